from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP902")
def check(subject: Subject) -> Iterator[Hit]:
    """Run every branch, and report private attributes that the sandbox refused inside filters."""
    names = [*subject.forced_run.by_name]
    if names:
        yield Hit(
            f"a filter accesses {', '.join(names)}: without a sandbox, the template can"
            " execute code",
        )
