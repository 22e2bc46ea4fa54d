from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP704")
def check(subject: Subject) -> Iterator[Hit]:
    """Append a result to a call without arguments, with a generation prompt after it."""
    marks = subject.marks
    call = ToolCall(marks.names[0], {}, marks.ids[0])
    called: Dialogue = (subject.user, Message(calls=(call,)))
    before = subject.play(called)
    after = subject.play((*called, subject.answer(call)), generation=True)
    if before.rendered and after.rendered and not after.text.startswith(before.text):
        yield Hit(
            "a tool result changes the sampled turn before it: trainers that check the"
            " prefix raise",
            (compare_renders(before, "a call", after, "a call and its result"),),
            line=before.line_at(prefix_length(before.text, after.text)),
        )
