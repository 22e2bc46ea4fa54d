from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, line_of_the_lost
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP306")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a message with content and a call, and the same message without its content."""
    marks = subject.marks
    both, bare = render_last_call(subject, marks.content), render_last_call(subject)
    alone = subject.play((subject.user, Message(marks.content)), tools=True)
    if both.rendered and subject.call().name in both.text and marks.content not in both.text:
        yield Hit(
            "content beside a call is not in the prompt",
            (compare_renders(both, "with content", bare, "without content"),),
            line=line_of_the_lost(both, alone, marks.content) or both.line_of(marks.values[0]),
        )
