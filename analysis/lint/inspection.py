"""What rules see of templates, as plain values: they go to a worker, into the cache, to reports.

Rules go over as codes and come back as codes, since a rule is a function of a module, and its page
need not travel with every finding. What looks (`template_inspection.py`) is not imported here, so
that a run whose answers are cached starts without the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind

from .baselines import Ignore
from .hit import Hit, Severity
from .linting import SHOWING_ALL, FindingFilter, LintFinding
from .project_settings import FailOn
from .project_sources import InputProblem
from .registry import rule_of
from .rule import Rule, RuleNeed

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate

    from .other_renders import OtherJinja


# What a run over many templates came to: the value that every report reads.


_WEIGHTS = [*Severity]


@dataclass(frozen=True, slots=True)
class InspectedTemplate:
    """One template, and what was found of it."""

    path: str
    """Relative to the working directory, with slashes, where it is below that."""
    name: str | None
    """Its name where its source has several templates."""
    template: ChatTemplate
    in_lines: bool
    """Whether the template's lines are lines of the file; not so of JSON and GGUF."""
    findings: tuple[LintFinding, ...]
    """Those that count, the weightiest first."""
    baseline_findings: tuple[LintFinding, ...] = ()
    """Those that are in the baseline."""
    ignored: tuple[LintFinding, ...] = ()
    """Those that the template's own comments or the settings accept."""
    folded: tuple[LintFinding, ...] = ()
    """Those that the profile does not show."""
    unused: tuple[Ignore, ...] = ()
    """Comments that accept what was not found."""
    remarks: tuple[str, ...] = ()
    """What else was in the way, such as a tokenizer beside it that cannot be read."""
    left_out: tuple[tuple[Rule, RuleNeed], ...] = ()
    """Rules that could not look, and what they lack."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """What is the evidence for each part of its format."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of its tokenizer that no render writes."""
    linked_out: bool = False
    """Whether it was found below a folder, by a link that leads out of that."""

    @property
    def text(self) -> str:
        """The template's text."""
        return self.template.text

    def rests_on(self, rule: Rule) -> Mapping[TurnPart, EvidenceKind]:
        """Return the parts of the format that a rule goes by, with their evidence."""
        return {part: kind for part, kind in self.evidence if part is rule.needs.part}

    def line_in_file(self, line: int | None) -> int | None:
        """Return a template's line as a line of the file; None where that cannot be said."""
        return line if self.in_lines else None


@dataclass(frozen=True, slots=True)
class LintRun:
    """Many templates."""

    templates: tuple[InspectedTemplate, ...]
    """In the order in which they were named, then of paths."""
    problems: tuple[InputProblem, ...] = ()
    """What could not be looked at."""
    rules: tuple[Rule, ...] = ()
    """Those that were to look."""
    fail_on: FailOn = FailOn.ERROR
    finding_filter: FindingFilter = SHOWING_ALL
    """What counts; the rest is folded."""
    baseline: bool = False
    """Whether there was one."""
    vanished: int = 0
    """Entries of the baseline that match nothing any more."""
    left_out: tuple[InputProblem, ...] = ()
    """What a folder or a pattern has that is no file."""

    @property
    def findings(self) -> Iterator[tuple[InspectedTemplate, LintFinding]]:
        """Every finding that counts, with its template."""
        return ((template, finding) for template in self.templates for finding in template.findings)

    def fails(self, finding: LintFinding) -> bool:
        """Whether a finding is one to fail on."""
        if self.fail_on is FailOn.NEVER:
            return False
        return _WEIGHTS.index(finding.severity) <= _WEIGHTS.index(Severity(self.fail_on.value))

    @property
    def failed(self) -> bool:
        """Whether there is a finding to fail on."""
        return any(self.fails(finding) for _, finding in self.findings)

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity is severity for _, finding in self.findings)


@dataclass(frozen=True, slots=True)
class InspectionTask:
    """A template, and the rules to hold it against."""

    template: ChatTemplate
    rules: tuple[str, ...]
    """Codes."""
    tokenizer: str | None = None
    directory: Path | None = None
    jinjas: tuple[OtherJinja, ...] = ()
    """Programs to ask for its renders."""
    saved_format: str | None = None
    """A saved format of this very text: what was learned of its turns."""
    tools: tuple[Tool, ...] = ()
    """Functions to ask with instead of those of the rules."""

    @property
    def identity(self) -> object:
        """What decides the answer: tasks of one identity are done once."""
        tokens: Mapping[str, str] = self.template.special_tokens
        return (
            self.template.text,
            tuple(sorted(tokens.items())),
            self.tokenizer,
            self.directory,
            self.saved_format,
        )


@dataclass(frozen=True, slots=True)
class SeenHits:
    """What the rules saw."""

    hits: tuple[tuple[str, Hit, tuple[str, ...]], ...] = ()
    """A code, its hit, and the codes that were merged into it."""
    left_out: tuple[tuple[str, RuleNeed], ...] = ()
    """Rules that could not look, and what they lack."""
    troubles: tuple[InputProblem, ...] = ()
    """What was in the way; the path is empty where it is the template's."""
    ignores: tuple[Ignore, ...] = ()
    """What the template's comments accept."""
    wrong_comments: tuple[InputProblem, ...] = ()
    """What is wrong with other comments for autoparser; their path is the reader's affair."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """What is the evidence for each part of the format; empty where it cannot be analyzed."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of the tokenizer that no render writes; they suggest what the model writes."""
    looked: bool = True
    """Whether the rules looked at all."""

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The hits, each with its rule."""
        return tuple(LintFinding(rule_of(code), hit, also) for code, hit, also in self.hits)
