"""The order of the phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from autoparser.analysis.learning.observer import Observer

from . import a1, a2, a3, c1, r1, r2, r3, t1, t2, t3, t4, t5, t6, t7
from .draft import Draft
from .finding import Finding

Phase: TypeAlias = Callable[[Observer, Draft], tuple[Draft, Finding]]

PHASES: tuple[Phase, ...] = tuple(
    module.examine for module in (r1, r2, r3, c1, t1, t2, t3, t4, t5, t6, t7, a1, a2, a3)
)


def run_phases(observer: Observer, draft: Draft) -> tuple[Draft, tuple[Finding, ...]]:
    """Run every phase; each sees what those before it have found."""
    findings: list[Finding] = []
    for examine in PHASES:
        draft, finding = examine(observer, draft)
        findings.append(finding)
    return draft, tuple(findings)
