from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP911")
def check(subject: Subject) -> Iterator[Hit]:
    """Run every branch, and report which templates were requested."""
    names = [*subject.forced_run.loaded]
    if names:
        yield Hit(
            "fails on every request, because chat templates cannot load other files:"
            f" {', '.join(names)}"
        )
