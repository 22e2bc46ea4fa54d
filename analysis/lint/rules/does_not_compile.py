from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitCause
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP101")
def check(subject: Subject) -> Iterator[Hit]:
    """Compile the template."""
    error = subject.syntax_error
    if error is not None:
        yield Hit(
            f"every request fails: {error.message}",
            line=error.line,
            column=error.column,
            fix=error.hint or "",
            cause=HitCause("raises", error.line, error.message),
        )
