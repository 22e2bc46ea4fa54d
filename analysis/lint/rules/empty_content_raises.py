from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message, UserMessage
from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import failure_words, raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_earlier
from autoparser.analysis.lint.subject import Subject


@rule("AP117")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a conversation with an empty question, and with an empty answer."""
    marks, shape = subject.marks, subject.shape
    usual = render_earlier(subject)
    if not usual.rendered or ContentForm.PARTS in (shape.user_content, shape.assistant_content):
        return
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
