"""The order of the phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from autoparser.analysis.inference.learning.observer import Observer

from . import a1, a2, a3, c1, r1, r2, r3, t1, t2, t3, t4, t5, t6, t7
from .draft import Draft
from .phase_finding import Finding

Phase: TypeAlias = Callable[[Observer, Draft], tuple[Draft, Finding]]

PHASES: tuple[Phase, ...] = tuple(
    module.examine for module in (r1, r3, c1, t1, t2, t3, r2, t4, t7, t5, a1, a2, a3, t6)
)
"""Each after those that it needs: R2 reads prompts by the header, which T3 learns; T6 asks whether
what A3 found of objects is true of all arguments together."""

_TOLD = "RCTA"
"""The order of the findings: of reasoning, of content, of calls, of arguments."""


def run_phases(observer: Observer, draft: Draft) -> tuple[Draft, tuple[Finding, ...]]:
    """Run every phase; each sees what those before it have found."""
    findings: list[Finding] = []
    for examine in PHASES:
        draft, finding = examine(observer, draft)
        findings.append(finding)
    findings.sort(key=lambda each: (_TOLD.index(each.phase[0]), each.phase))
    return draft, tuple(findings)
