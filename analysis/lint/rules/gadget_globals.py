from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP903")
def check(subject: Subject) -> Iterator[Hit]:
    """Run every branch, and report the globals that were called."""
    names = [*subject.forced_run.gadgets]
    if names:
        yield Hit(f"the template calls {', '.join(names)}, known from sandbox escapes")
