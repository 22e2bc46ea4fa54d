from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import Render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import role_message, system_text_lost
from autoparser.analysis.lint.subject import Subject


@rule("AP314")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a system message first, and before the last user message."""
    marks, shape = subject.marks, subject.shape
    system = role_message("system", shape.user_text(marks.system))
    chat = shape.messages(subject.chat)
    first = subject.render([system, *chat], generation=True)
    later = subject.render([*chat[:-1], system, chat[-1]], generation=True)
    found = [
        *system_text_lost(
            subject,
            "a system message in the middle of a conversation",
            (later, "in the middle"),
            (first, "as the first message"),
            None if later.rendered or later.crashed else Severity.INFO,
        )
    ]
    yield from found or _two_message_hits(subject, first)


def _two_message_hits(subject: Subject, first: Render) -> Iterator[Hit]:
    """Render two system messages before the first question, either of which may be lost."""
    marks, shape = subject.marks, subject.shape
    system, other = (
        role_message("system", shape.user_text(text)) for text in (marks.system, marks.content)
    )
    chat = shape.messages((subject.user,))
    for messages, which in (([system, other], "first"), ([other, system], "second")):
        both = subject.render([*messages, *chat], generation=True)
        yield from system_text_lost(
            subject,
            f"the {which} of two system messages at the beginning",
            (both, "two system messages"),
            (first, "one system message"),
            None if both.rendered or both.crashed else Severity.INFO,
        )
        if not both.rendered:
            return
