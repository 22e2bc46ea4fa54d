from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP306")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a message with content and a call, and the same message without its content."""
    marks, call = subject.marks, subject.call()
    both = subject.play(subject.turn(Message(marks.content, calls=(call,))), tools=True)
    bare = subject.play(subject.turn(Message(calls=(call,))), tools=True)
    if both.rendered and call.name in both.text and marks.content not in both.text:
        yield Hit(
            "content beside a call is not in the prompt",
            (compare_renders(both, "with content", bare, "without content"),),
            line=both.line_of(marks.values[0]),
        )
