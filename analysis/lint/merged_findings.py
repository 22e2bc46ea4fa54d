"""Findings of one cause are one finding.

Two ways lead there. A finding may name its cause, such as the line that raised and what it said:
of several with the same cause the weightiest stays. And a rule may cover others: where content is
dropped altogether, it is not news that it is not written beside calls either. A finding never hides
one that weighs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .hit import HitCause, Severity
from .lint_finding import LintFinding

_WEIGHTS = [*Severity]


def merged(findings: Sequence[LintFinding]) -> tuple[LintFinding, ...]:
    """Return the findings that stay, in the order of weight, then of code."""
    ordered = sorted(findings, key=lambda each: (_weight(each), each.code))
    return tuple(_by_cause(_uncovered(ordered)))


def _uncovered(findings: Sequence[LintFinding]) -> list[LintFinding]:
    """Fold the findings of rules that another's finding covers into that, unless it weighs less."""
    # The weightiest come first, and it is they that cover.
    covering: dict[str, LintFinding] = {}
    for finding in findings:
        for code in finding.rule.covers:
            covering.setdefault(code, finding)

    def cover_of(finding: LintFinding) -> LintFinding | None:
        cover = covering.get(finding.code)
        return cover if cover is not None and _weight(cover) <= _weight(finding) else None

    covered: dict[str, list[str]] = {}
    kept: list[LintFinding] = []
    for finding in findings:
        last, seen = finding, {finding.code}
        while (cover := cover_of(last)) is not None and cover.code not in seen:
            last = cover
            seen.add(cover.code)
        if last is finding:
            kept.append(finding)
        else:
            covered.setdefault(last.code, []).append(finding.code)
    return [
        replace(each, also=_distinct((*each.also, *covered.pop(each.code, ())), each.code))
        for each in kept
    ]


def _weight(finding: LintFinding) -> int:
    return _WEIGHTS.index(finding.severity)


def _by_cause(findings: Sequence[LintFinding]) -> list[LintFinding]:
    kept: list[LintFinding] = []
    places: dict[HitCause, int] = {}
    for finding in findings:
        cause = finding.hit.cause
        if cause is None or cause not in places:
            if cause is not None:
                places[cause] = len(kept)
            kept.append(finding)
            continue
        first = kept[places[cause]]
        codes = (*first.also, finding.code, *finding.also)
        # What is seen once with nothing set holds under no switch alone.
        always = not (first.hit.setting and finding.hit.setting)
        hit = replace(first.hit, setting={}) if always else first.hit
        kept[places[cause]] = replace(first, hit=hit, also=_distinct(codes, first.code))
    return kept


def _distinct(codes: Iterable[str], but: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code != but))
