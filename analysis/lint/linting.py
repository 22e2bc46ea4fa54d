"""Every rule on one template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from autoparser.shown import Shown

from .hit import Hit
from .lint_finding import LintFinding
from .merged_findings import merged
from .registry import all_rules, run_check
from .rule import Need, Rule
from .subject import Subject


@dataclass(frozen=True, slots=True, repr=False)
class LintReport(Shown):
    """What the rules found in one template."""

    shown_as: ClassVar[str] = "findings"

    findings: tuple[LintFinding, ...]
    """Merged by cause, the weightiest first."""
    left_out: tuple[tuple[Rule, Need], ...]
    """Rules that could not look, and what they lack."""

    def __repr__(self) -> str:
        """Return the codes, the weightiest first, in one line."""
        codes = ", ".join(finding.code for finding in self.findings)
        return f"<{type(self).__name__}: {codes or 'no findings'}>"


def lint(subject: Subject, rules: Sequence[Rule] | None = None) -> LintReport:
    """Let the rules look at a template; None takes those that run by default.

    Raises TemplateLimitError where no render of it ends in time.
    """
    chosen = [rule for rule in all_rules() if rule.default] if rules is None else rules
    if any(rule.needs is not Need.SOURCE for rule in chosen):
        # Asked first: that nothing ends is known before any rule renders.
        subject.has(Need.ANALYSIS)
    found: list[LintFinding] = []
    left_out: list[tuple[Rule, Need]] = []
    for rule in chosen:
        if subject.has(rule.needs):
            found += [LintFinding(rule, hit) for hit in _hits(rule, subject)]
        else:
            left_out.append((rule, subject.lacking(rule.needs)))
    return LintReport(merged(found), tuple(left_out))


def _hits(rule: Rule, subject: Subject) -> list[Hit]:
    """Let a rule look; what it sees only under the switches of the format says so."""
    hits = list(run_check(rule, subject))
    if not hits or rule.needs is Need.SOURCE:
        # A source says the same under every switch, and may be one whose renders never end.
        return hits
    usual = subject.usual_setting
    if not usual or next(run_check(rule, subject.with_nothing_set), None) is not None:
        return hits
    return [hit if hit.setting else replace(hit, setting=usual) for hit in hits]
