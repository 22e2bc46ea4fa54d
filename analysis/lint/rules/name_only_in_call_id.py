from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, ToolCall, ToolResult
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP516")
def check(subject: Subject) -> Iterator[Hit]:
    """Render calls of two functions with the same id and the same result."""
    marks = subject.marks
    id_ = marks.ids[0]
    # Of a third function, so that the result does not name the called one.
    answer = ToolResult(marks.answer, marks.names[2], id_)
    one, other = (
        subject.play(
            (subject.user, Message(calls=(ToolCall(name, subject.call().arguments, id_),)), answer),
            tools=True,
        )
        for name in marks.names[:2]
    )
    if one.rendered and one.text == other.text and id_ in one.text and marks.values[0] in one.text:
        another = "a call of another function with the same id"
        yield Hit(
            "the name of a called function is in the prompt only as part of the call id",
            (compare_renders(one, "a call of one function", other, another),),
            line=one.line_of(id_),
        )
