from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.other_renders import comparison_hits
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP811")
def check(subject: Subject) -> Iterator[Hit]:
    """Group conversations whose prompts differ by the place that wrote the difference."""
    for comparison in subject.in_other_jinjas:
        yield from comparison_hits(comparison, subject.matrix, failed=False)
