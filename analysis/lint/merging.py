"""Findings of one cause are one finding.

Two ways lead there. A finding may name its cause, such as the line that raised and what it said:
of several with the same cause the weightiest stays. And a rule may cover others: where content is
dropped altogether, it is no news that it is not written beside calls either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .finding import Cause, Finding, Severity

_WEIGHTS = [*Severity]


def merged(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Give the findings that stay, in the order of weight, then of code."""
    ordered = sorted(findings, key=lambda each: (_WEIGHTS.index(each.severity), each.code))
    return tuple(_by_cause(_uncovered(ordered)))


def _uncovered(findings: Sequence[Finding]) -> list[Finding]:
    """Fold the findings of rules that another's finding covers into that."""
    covering: dict[str, str] = {}
    for finding in findings:
        for code in finding.rule.covers:
            covering.setdefault(code, finding.code)
    covered: dict[str, list[str]] = {}
    for finding in findings:
        if finding.code in covering:
            covered.setdefault(_last(covering, finding.code), []).append(finding.code)
    kept: list[Finding] = []
    for finding in findings:
        if finding.code not in covering:
            also = covered.pop(finding.code, ())
            kept.append(replace(finding, also=_distinct((*finding.also, *also), finding.code)))
    return kept


def _last(covering: dict[str, str], code: str) -> str:
    seen = {code}
    while code in covering and covering[code] not in seen:
        code = covering[code]
        seen.add(code)
    return code


def _by_cause(findings: Sequence[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    places: dict[Cause, int] = {}
    for finding in findings:
        cause = finding.hit.cause
        if cause is None or cause not in places:
            if cause is not None:
                places[cause] = len(kept)
            kept.append(finding)
            continue
        first = kept[places[cause]]
        codes = (*first.also, finding.code, *finding.also)
        kept[places[cause]] = replace(first, also=_distinct(codes, first.code))
    return kept


def _distinct(codes: Iterable[str], but: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code != but))
