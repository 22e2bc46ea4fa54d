from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import ContentForm, MessageShape, ToolForm
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, undefined_fix
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import second_question, user_question
from autoparser.analysis.lint.subject import Subject


@rule("AP102", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render one question, then a second one after its answer."""
    for words, messages in (
        ("a conversation of one user message", user_question(subject)),
        ("a user message after an answer", second_question(subject)),
    ):
        render = subject.render(messages, generation=True, setting={})
        if not render.rendered:
            wanted = _working_shape(subject)
            yield Hit(
                f"{words} {failure_words(render)}{wanted}",
                (show_render(render, words),),
                line=None if render.error is None else render.error.line,
                fix=undefined_fix(render.reason),
                severity=_severity(subject, render),
                cause=render.cause,
            )


def _severity(subject: Subject, render: Render) -> Severity:
    # Servers detect templates that only take content parts, and send those; raise_exception gives a
    # reason.
    mild = not render.crashed or _takes_parts(subject.shape)
    return Severity.WARNING if mild else Severity.ERROR


def _takes_parts(shape: MessageShape) -> bool:
    return ContentForm.PARTS in (shape.user_content, shape.assistant_content)


def _working_shape(subject: Subject) -> str:
    """Return the shape in which the conversation renders, in words; empty if none is known."""
    shape = subject.shape
    wants = {
        "a system message": shape.system,
        "content as a list of parts": _takes_parts(shape),
        "tools": subject.failure is None and shape.tools is not ToolForm.WRAPPED,
    }
    named = [words for words, wanted in wants.items() if wanted]
    return f"; it requires {' and '.join(named)}" if named else ""
