from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP402")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for a call's reasoning after the answer to the call."""
    if subject.format.calls is None:
        return
    word, call = subject.marks.reasoning, subject.call()
    message = Message(reasoning=word, calls=(call,))
    running = subject.play((subject.user, message, subject.answer(call)), tools=True)
    if not running.rendered or word in running.text or call.name not in running.text:
        return
    before = render_last_call(subject, reasoning=word)
    shown = word in before.text
    if not shown:
        before = render_answer(subject, reasoning=word)
    what = "is dropped after the call's result" if shown else "is never rendered"
    yield Hit(
        f"the reasoning of a message with calls {what}",
        (compare_renders(running, "with the result", before, "where it is rendered"),),
        line=before.line_of(word),
    )
