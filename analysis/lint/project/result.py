"""What a run over many templates came to: the value that every report reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Part
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.lint_finding import LintFinding
from autoparser.analysis.lint.profile import SHOWING_ALL, FindingFilter
from autoparser.analysis.lint.rule import Need, Rule
from autoparser.analysis.loading.template import ChatTemplate

from .ignores import Ignore
from .problem import Problem
from .project_settings import FailOn

_WEIGHTS = [*Severity]


@dataclass(frozen=True, slots=True)
class Inspected:
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
    known: tuple[LintFinding, ...] = ()
    """Those that are in the baseline."""
    ignored: tuple[LintFinding, ...] = ()
    """Those that the template's own comments or the settings accept."""
    folded: tuple[LintFinding, ...] = ()
    """Those that the profile does not show."""
    unused: tuple[Ignore, ...] = ()
    """Comments that accept what was not found."""
    remarks: tuple[str, ...] = ()
    """What else was in the way, such as a tokenizer beside it that cannot be read."""
    left_out: tuple[tuple[Rule, Need], ...] = ()
    """Rules that could not look, and what they lack."""
    evidence: tuple[tuple[Part, EvidenceKind], ...] = ()
    """What is the evidence for each part of its format."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of its tokenizer that no render writes."""
    linked_out: bool = False
    """Whether it was found below a folder, by a link that leads out of that."""

    @property
    def text(self) -> str:
        """The template's text."""
        return self.template.text

    def rests_on(self, rule: Rule) -> Mapping[Part, EvidenceKind]:
        """Return the parts of the format that a rule goes by, with their evidence."""
        return {part: kind for part, kind in self.evidence if part is rule.needs.part}

    def line_in_file(self, line: int | None) -> int | None:
        """Return a template's line as a line of the file; None where that cannot be said."""
        return line if self.in_lines else None


@dataclass(frozen=True, slots=True)
class LintRun:
    """Many templates."""

    templates: tuple[Inspected, ...]
    """In the order in which they were named, then of paths."""
    problems: tuple[Problem, ...] = ()
    """What could not be looked at."""
    rules: tuple[Rule, ...] = ()
    """Those that were to look."""
    fail_on: FailOn = FailOn.ERROR
    shown: FindingFilter = SHOWING_ALL
    """What counts; the rest is folded."""
    baseline: bool = False
    """Whether there was one."""
    vanished: int = 0
    """Entries of the baseline that match nothing any more."""

    @property
    def findings(self) -> Iterator[tuple[Inspected, LintFinding]]:
        """Every finding that counts, with its template."""
        return ((each, finding) for each in self.templates for finding in each.findings)

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
