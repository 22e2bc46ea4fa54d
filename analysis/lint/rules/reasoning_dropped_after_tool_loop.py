from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP403")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for a call's reasoning in the loop, and after the next user message."""
    if subject.format.calls is None:
        return
    word, call = subject.marks.reasoning, subject.call()
    message = Message(reasoning=word, calls=(call,))
    loop: Dialogue = (subject.user, message, subject.answer(call))
    running = subject.play(loop, tools=True)
    over = subject.play((*loop, *subject.chat[1:]), tools=True)
    if word in running.text and over.rendered and word not in over.text:
        yield Hit(
            "the reasoning of a tool loop is dropped after the next user message",
            (compare_renders(running, "while the loop runs", over, "after another message"),),
            line=running.line_of(word),
        )
