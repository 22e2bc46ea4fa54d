from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP517")
def check(subject: Subject) -> Iterator[Hit]:
    """Render the same call with two ids."""
    call = subject.call()
    ids = subject.marks.ids
    one, other = (
        subject.play(
            subject.turn(Message(calls=(ToolCall(call.name, call.arguments, call_id),))), tools=True
        )
        for call_id in ids[:2]
    )
    if one.rendered and other.rendered and one.text != other.text and ids[0] in one.text:
        yield Hit(
            "the prompt contains call ids: if the engine generates new ones, the prefix"
            " cache misses from the first call on",
            (compare_renders(one, "one id", other, "another id"),),
            line=one.line_of(ids[0]),
        )
