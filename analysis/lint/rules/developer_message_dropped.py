from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compare_renders, failure_words, line_of_the_lost
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message
from autoparser.analysis.lint.subject import Subject


@rule("AP313")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message after a system message, and after a developer message."""
    marks, shape = subject.marks, subject.shape
    asked = shape.messages((subject.user,))
    as_system, as_developer = (
        subject.render(
            [role_message(role, shape.user_text(marks.system)), *asked],
            generation=True,
        )
        for role in ("system", "developer")
    )
    if marks.system not in as_system.text or marks.system in as_developer.text:
        return
    error = as_developer.error
    what = "is dropped" if error is None else failure_words(as_developer)
    yield Hit(
        f"a message of the role developer {what}",
        (compare_renders(as_developer, "from a developer", as_system, "from the system"),),
        line=line_of_the_lost(as_developer, as_system, marks.system),
        severity=Severity.WARNING if as_developer.crashed else None,
        cause=as_developer.cause,
    )
