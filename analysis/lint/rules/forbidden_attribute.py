from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP901")
def check(subject: Subject) -> Iterator[Hit]:
    """Run every branch, and report private attributes that the sandbox refused."""
    seen = subject.forced_run
    names = [name for name in seen.forbidden if name not in seen.by_name]
    if names:
        yield Hit(
            f"the template accesses {', '.join(names)}: without a sandbox, it can execute code"
        )
