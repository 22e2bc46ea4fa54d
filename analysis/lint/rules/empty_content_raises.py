from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message, UserMessage
from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_earlier
from autoparser.analysis.lint.subject import Subject


@rule("AP117")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a tool loop without content, and a chat with an empty question or answer."""
    marks, shape = subject.marks, subject.shape
    usual = render_earlier(subject)
    if not usual.rendered or ContentForm.PARTS in (shape.user_content, shape.assistant_content):
        return
    yield from _call_alone(subject)
    cases: tuple[tuple[str, Dialogue], ...] = (
        ("an empty answer", (subject.user, Message(), subject.next_user)),
        ("an empty user message", (UserMessage(""), Message(marks.content), subject.next_user)),
    )
    for words, dialogue in cases:
        render = subject.play(dialogue)
        if render.error is not None:
            message, refused = f"a conversation with {words} {failure_words(render)}", Severity.INFO
            yield raising_hit(
                message, (render, f"with {words}"), (usual, "with text"), refused=refused
            )


def _call_alone(subject: Subject) -> Iterator[Hit]:
    """Render a call and its result, with content beside the call and without."""
    call = subject.call()
    prefaced = Message(subject.marks.content, calls=(call,))
    beside = subject.play((subject.user, prefaced, subject.answer(call)), tools=True)
    alone = subject.play(subject.loop, tools=True)
    # A template whose renders show no call does not know the field.
    if alone.error is not None and str(subject.marks.values[0]) in beside.text:
        yield raising_hit(
            f"a call without content {failure_words(alone)}",
            (alone, "without content"),
            (beside, "with content"),
            crashed=Severity.ERROR,
        )
