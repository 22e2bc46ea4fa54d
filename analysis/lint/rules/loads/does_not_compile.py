"""The template does not compile.

Every request fails. Whoever loads the model sees it at once; whoever edits the template sees it
when the first request comes.

Before:

    {% if message.role == 'user' %}{{ message.content }}

After:

    {% if message.role == 'user' %}{{ message.content }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitCause, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compile it."""
    error = subject.syntax_error
    if error is not None:
        yield Hit(
            f"every request fails: {error.message}",
            line=error.line,
            fix=error.hint or "",
            cause=HitCause("raises", error.line, error.message),
        )


RULE = Rule(
    "AP101",
    "does-not-compile",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.SOURCE,
    concerns=(Concern.ENGINES,),
)
