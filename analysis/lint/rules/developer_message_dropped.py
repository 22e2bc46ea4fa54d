from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message, system_text_lost
from autoparser.analysis.lint.subject import Subject


@rule("AP313")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message after a system message, and after a developer message."""
    marks, shape = subject.marks, subject.shape
    asked = shape.messages((subject.user,))
    as_system, as_developer = (
        subject.render([role_message(role, shape.user_text(marks.system)), *asked], generation=True)
        for role in ("system", "developer")
    )
    yield from system_text_lost(
        subject,
        "a message of the role developer",
        (as_developer, "from a developer"),
        (as_system, "from the system"),
        Severity.WARNING if as_developer.crashed else None,
    )
