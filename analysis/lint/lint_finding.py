"""A hit of a rule on a template, with the rule's code and weight put to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from autoparser.analysis.core.errors import one_line
from autoparser.shown import Shown

from .hit import Confidence, Hit, HitEvidence, Severity
from .quoting import quoted_reasons
from .rule import Rule


@dataclass(frozen=True, slots=True, repr=False)
class LintFinding(Shown):
    """A hit of a rule on a template."""

    shown_as: ClassVar[str] = "finding"

    rule: Rule
    hit: Hit
    also: tuple[str, ...] = ()
    """Codes of the rules that saw the same cause and were merged into this."""

    def __repr__(self) -> str:
        """Return code, weight, place and what happens, in one line."""
        line = "" if self.hit.line is None else f" line {self.hit.line}"
        words = one_line(self.message)
        return f"<{type(self).__name__} {self.code} {self.severity.value}{line}: {words}>"

    @property
    def code(self) -> str:
        """The rule's stable code."""
        return self.rule.code

    @property
    def severity(self) -> Severity:
        """What it costs."""
        return self.hit.severity or self.rule.severity

    @property
    def confidence(self) -> Confidence:
        """How sure it is."""
        return self.hit.confidence or self.rule.confidence

    @property
    def message(self) -> str:
        """What happens to whom, and the switches under which alone it does."""
        if not self.hit.setting:
            return self.hit.message
        switches = ", ".join(f"{name}={value!r}" for name, value in self.hit.setting.items())
        return f"{self.hit.message} (only with {switches})"

    @property
    def message_without_reasons(self) -> str:
        """The message without the words of the exceptions that its evidence shows."""
        shown = (text for pair in self.evidence for text in (pair.one, pair.other) if text)
        message = self.message
        for error in (text.error for text in shown if text.error):
            for words in quoted_reasons(error):
                message = message.replace(words, "…")
        return message

    @property
    def evidence(self) -> tuple[HitEvidence, ...]:
        """The texts that show it."""
        return self.hit.evidence

    @property
    def line(self) -> int | None:
        """The template's line, from 1; None where none can be named."""
        return self.hit.line

    @property
    def fix(self) -> str:
        """What to write instead; empty where it is not known."""
        return self.hit.fix or self.rule.fix
