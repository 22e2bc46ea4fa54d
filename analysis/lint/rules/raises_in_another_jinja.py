from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.other_renders import comparison_hits
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP810")
def check(subject: Subject) -> Iterator[Hit]:
    """Group conversations that a program fails on by its error and the place."""
    for comparison in subject.in_other_jinjas:
        yield from comparison_hits(comparison, subject.matrix, failed=True)
