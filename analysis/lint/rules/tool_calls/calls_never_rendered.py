"""Tool calls are read, and nothing of them is written.

The model never sees that it called a tool: the result that follows answers nothing. Templates
get there by a field's wrong name, or by a branch that is never reached.

Before:

    {%- if message.tool_calls %}{{- message.content }}{%- endif %}

After:

    {%- for call in message.tool_calls %}{{- call.function | tojson }}{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autoparser.analysis.conversation import Message
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import Render, compared
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject

FIELD = "tool_calls"


class Read(dict[str, Any]):
    """A message that remembers which of its fields were asked for."""

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__(message)
        self.asked: set[object] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(key)
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Give a field, or the default."""
        self.asked.add(key)
        return super().get(key, default)


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call in the usual shape, where the analysis saw a call in none."""
    if subject.format.calls is not None:
        return
    marks, call = subject.marks, subject.call()
    plain = subject.play((subject.user, Message(marks.content)))
    called = (subject.user, Message(calls=(call,)))
    for dialogue in (called, (*called, subject.answer(call))):
        render = subject.play(dialogue, tools=True)
        if not render.rendered or not plain.rendered or not _reads_calls(subject, render):
            continue
        # The tools' definitions have the name, too.
        if render.text.count(call.name) <= 1 and call.id not in render.text:
            yield Hit(
                "the model never sees its own tool calls: no shape of a call reaches the prompt",
                (compared(render, "with a tool call", plain, "with an answer instead"),),
            )
            return


def _reads_calls(subject: Subject, render: Render) -> bool:
    """Whether the template asks a message for its calls."""
    variables = subject.variables(render, tools=True, generation=False)
    messages = [Read(dict(message)) for message in render.messages]
    try:
        subject.template.render_prepared({**variables, "messages": messages})
    except TemplateRenderError:
        return False
    return any(FIELD in message.asked for message in messages)


RULE = Rule(
    "AP501",
    "calls-never-rendered",
    __doc__,
    Severity.ERROR,
    check,
    fix="write each call's name and arguments where the message's text is written",
)
