"""The inputs and results of inspections, as plain values for workers, the cache and reports.

Tasks and results name rules by code: a check is a function of a module, and a page need not travel
with every finding. The inspection itself (`template_inspection.py`) is not imported here, so a run
whose results are cached starts without the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind

from .baselines import Ignore
from .hit import Hit, Severity
from .linting import SHOWING_ALL, FindingFilter, LintFinding
from .project_settings import FailOn
from .project_sources import InputProblem
from .registry import find_rule
from .rule import Rule, RuleNeed

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate

    from .other_renders import OtherJinja


_WEIGHTS = [*Severity]


class InspectedTemplate(Struct, frozen=True):
    """A template and its findings."""

    path: str
    """Relative to the working directory, with slashes, if it lies below it, e.g.
    ``model/chat_template.jinja``."""
    name: str | None
    """The template's name if its source holds several, e.g. ``tool_use``."""
    template: ChatTemplate
    """The template itself, e.g. ``<ChatTemplate of fixtures/lint/AP206/fires.jinja: 5 lines>``."""
    in_lines: bool
    """Whether the template's lines are lines of the file, e.g. True for ``chat_template.jinja``:
    they are not in JSON and GGUF."""
    findings: tuple[LintFinding, ...]
    """The findings that count, the most severe first, e.g. ``(<LintFinding AP506 error line 23:
    …>,)``."""
    baseline_findings: tuple[LintFinding, ...] = ()
    """The findings that the baseline holds, e.g. ``(<LintFinding AP314 warning line 9: …>,)``."""
    ignored: tuple[LintFinding, ...] = ()
    """The findings that the template's comments or the settings accept, e.g. of AP301 after
    ``{#- autoparser: ignore AP301 reason -#}``."""
    folded: tuple[LintFinding, ...] = ()
    """The findings that the profile hides, e.g. ``(<LintFinding AP108 warning line 12: …>,)``."""
    unused: tuple[Ignore, ...] = ()
    """Ignore comments that match no finding, e.g. ``(Ignore(("AP108",), "lists are
    joined upstream", 1),)``."""
    remarks: tuple[str, ...] = ()
    """Other problems, e.g. an unreadable tokenizer beside the template."""
    left_out: tuple[tuple[Rule, RuleNeed], ...] = ()
    """Skipped rules, with the need that was not met, e.g. ``a tokenizer``."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """The evidence for each part of the format, e.g. ``((TurnPart.CONTENT,
    EvidenceKind.RENDER),)``."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of the tokenizer that no render writes, e.g. ``<|fim_middle|>``."""
    linked_out: bool = False
    """Whether the path was found in a folder and leads out of it through a link, e.g. True for a
    link to a file elsewhere."""

    @property
    def text(self) -> str:
        """The template's text."""
        return self.template.text

    def rests_on(self, rule: Rule) -> Mapping[TurnPart, EvidenceKind]:
        """Return the parts of the format that a rule depends on, with their evidence."""
        return {part: kind for part, kind in self.evidence if part is rule.needs.part}

    def line_in_file(self, line: int | None) -> int | None:
        """Return the file's line for a template's line, or None if it cannot be mapped."""
        return line if self.in_lines else None


class LintRun(Struct, frozen=True):
    """The results of a run over many templates."""

    templates: tuple[InspectedTemplate, ...]
    """In the order of the arguments, then of the paths, e.g. the two of ``fixtures/lint/AP101``."""
    problems: tuple[InputProblem, ...] = ()
    """Inputs that could not be inspected, e.g. ``(InputProblem("ign.jinja", "an ignore comment
    without a rule", …),)``."""
    rules: tuple[Rule, ...] = ()
    """The rules that were to run, e.g. AP101 ``does-not-compile`` first."""
    fail_on: FailOn = FailOn.ERROR
    """The severity from which findings fail the run, e.g. ``FailOn.ERROR``."""
    finding_filter: FindingFilter = SHOWING_ALL
    """The findings to show, e.g. ``FindingFilter(Profile.RELEASE, Severity.INFO, frozenset())``;
    the others are folded."""
    baseline: bool = False
    """Whether a baseline was used, e.g. True with ``--baseline lint-baseline.json``."""
    vanished: int = 0
    """The number of baseline entries without a finding, e.g. 0 if all of them were made again."""
    left_out: tuple[InputProblem, ...] = ()
    """Entries of a folder or pattern that are not files, e.g. a named pipe, which is not read."""
    unmatched: tuple[str, ...] = ()
    """Patterns of the settings that match no template, e.g. ``("legacy/**",)``."""

    @property
    def findings(self) -> Iterator[tuple[InspectedTemplate, LintFinding]]:
        """Every counted finding, with its template."""
        return ((template, finding) for template in self.templates for finding in template.findings)

    def fails(self, finding: LintFinding) -> bool:
        """Return whether a finding fails the run."""
        if self.fail_on is FailOn.NEVER:
            return False
        # The most severe comes first.
        return _WEIGHTS.index(finding.severity) <= _WEIGHTS.index(Severity(self.fail_on.value))

    @property
    def failed(self) -> bool:
        """Whether a finding fails the run."""
        return any(self.fails(finding) for _, finding in self.findings)

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity is severity for _, finding in self.findings)


class InspectionTask(Struct, frozen=True):
    """A template, and the rules to run on it."""

    template: ChatTemplate
    """The template, with its special tokens, e.g. ``{"bos_token": "<s>"}``."""
    rules: tuple[str, ...]
    """Codes, e.g. ``("AP101", "AP404")``."""
    tokenizer: str | None = None
    """The path of a tokenizer, e.g. ``model/tokenizer.json``."""
    directory: Path | None = None
    """The model directory that holds the template, e.g. ``fixtures/lint/AP210/fires``, or None for
    a file."""
    jinjas: tuple[OtherJinja, ...] = ()
    """Other Jinja implementations to compare renders with, e.g. minijinja 3.0.5 with ``--engines``.
    """
    saved_format: str | None = None
    """A saved format of this very text, with the results of learning from outputs."""
    tools: tuple[Tool, ...] = ()
    """Functions to render with instead of the rules' own, e.g. ``get_weather`` of ``--tools``."""

    @property
    def identity(self) -> object:
        """The key of the result: tasks with the same key run once."""
        # The rules, the other implementations and the tools are the same for all tasks of a run.
        tokens: Mapping[str, str] = self.template.special_tokens
        return (
            self.template.text,
            tuple(sorted(tokens.items())),
            self.tokenizer,
            self.directory,
            self.saved_format,
        )


class SeenHits(Struct, frozen=True):
    """The result of running the rules on one template."""

    hits: tuple[tuple[str, Hit], ...] = ()
    """A rule's code and its hit, e.g. ``("AP101", …)``; a run chooses among them, then merges those
    of one cause."""
    left_out: tuple[tuple[str, RuleNeed], ...] = ()
    """Codes of skipped rules, with the need that was not met, e.g. ``(("AP210",
    RuleNeed.TOKENIZER),)``."""
    troubles: tuple[InputProblem, ...] = ()
    """Problems on the way, e.g. ``minijinja 3.0.5 renders 65 of 65 conversations alike``; their
    path is empty if it is the template's."""
    ignores: tuple[Ignore, ...] = ()
    """The findings that the template's comments accept, e.g. ``(Ignore(("AP108",), "lists are
    joined upstream", 1),)``."""
    wrong_comments: tuple[InputProblem, ...] = ()
    """Malformed comments for autoparser, without their path, e.g. ``(InputProblem("", "an ignore
    comment without a rule", …),)``."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """The evidence for each part of the format, e.g. ``((TurnPart.CALLS, EvidenceKind.RENDER),)``;
    empty if the template cannot be analyzed."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of the tokenizer that no render writes, e.g. ``("</s>",)``: the model may write
    them."""
    looked: bool = True
    """Whether the rules ran, e.g. False if an error ended the inspection."""

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The hits with their rules."""
        return tuple(LintFinding(find_rule(code), hit) for code, hit in self.hits)
