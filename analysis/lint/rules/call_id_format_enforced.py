from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

MADE = "call_Ab12Cd34Ef56Gh78Ij90Kl12"
"""An id as OpenAI makes them."""


@rule("AP518")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call and its result with an id of nine letters, and with one as in chat APIs."""
    call = subject.call()
    other = ToolCall(call.name, call.arguments, MADE)
    plain, made = (
        subject.play((subject.user, Message(calls=(asked,)), subject.answer(asked)), tools=True)
        for asked in (call, other)
    )
    if made.error is not None and plain.rendered:
        message = f"requests fail whose calls have ids like {MADE}: {made.reason}"
        words = "an id as chat APIs make them", "an id of nine letters"
        yield raising_hit(message, (made, words[0]), (plain, words[1]))
