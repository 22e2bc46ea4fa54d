from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.message_shape import ReasoningForm
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import Chat, render_answer, render_last_call
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import REASONING_FIELDS


@rule("AP409")
def check(subject: Subject) -> Iterator[Hit]:
    """Render reasoning under each field name alone."""
    shape = subject.shape
    if shape.reasoning_form is not ReasoningForm.FIELD or shape.reasoning_field is None:
        return
    usual = render_answer(subject, reasoning=subject.marks.reasoning)
    # Some templates keep reasoning only beside calls.
    tools = subject.marks.reasoning not in usual.text and subject.format.calls is not None
    if tools:
        usual = render_last_call(subject, reasoning=subject.marks.reasoning)
    if subject.marks.reasoning not in usual.text:
        return
    renders = {name: _render_field(subject, usual, name, tools=tools) for name in REASONING_FIELDS}
    shown = [name for name, render in renders.items() if subject.marks.reasoning in render.text]
    # Ignored names are a fault only because clients send reasoning under any of them.
    hidden = [name for name in renders if name not in shown]
    if hidden:
        read = list_words(shown) if shown else shape.reasoning_field
        yield Hit(
            f"the template expects {read} and ignores {list_words(hidden)}: reasoning sent"
            " there is lost unless the server copies it",
            (compare_renders(usual, read, renders[hidden[0]], hidden[0]),),
            line=usual.line_of(subject.marks.reasoning),
        )


def _render_field(subject: Subject, usual: Render, name: str, *, tools: bool) -> Render:
    field = subject.shape.reasoning_field
    chat: Chat = [
        {name if key == field else key: value for key, value in message.items()}
        if message["role"] == "assistant"
        else dict(message)
        for message in usual.messages
    ]
    return subject.render(
        chat,
        tools=subject.usual_tools if tools else None,
        as_given=True,
    )
