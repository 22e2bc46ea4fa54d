from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

FIELD = "tool_calls"


class WatchedMessage(dict[str, Any]):
    """A message that records which of its fields are read."""

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__(message)
        self.read_keys: set[object] = set()

    # `message.tool_calls` ends up here, too: a dictionary has no such attribute.
    def __getitem__(self, key: str) -> Any:
        self.read_keys.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read_keys.add(key)
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field, or the default."""
        self.read_keys.add(key)
        return super().get(key, default)


@rule("AP501")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call, last and answered, and an answer in its place."""
    marks, call = subject.marks, subject.call()
    plain = subject.play((subject.user, Message(marks.content)), tools=True)
    hidden: list[Render] = []
    # The tools' definitions contain the name too, in some templates only beside a system message.
    defined = plain.text.count(call.name)
    led = subject.play((subject.user,), system=marks.system, tools=True)
    for dialogue in (subject.loop[:2], (*subject.loop, Message(marks.content))):
        render = subject.play(dialogue, tools=True)
        if render.rendered and (
            any(word in render.text for word in (marks.values[0], call.id))
            or render.text.count(call.name) > defined
        ):
            return
        hidden += [render] if render.rendered else []
    if not hidden or not plain.rendered:
        return
    told = defined or call.name in led.text
    if told or any(_reads_calls(subject, render) for render in hidden):
        why = "tools are described" if told else "the template accepts them"
        yield Hit(
            f"tool calls are not in the prompt, although {why}",
            (compare_renders(hidden[-1], "with a tool call", plain, "with an answer instead"),),
            line=parting_line(hidden[0], plain),
        )


def _reads_calls(subject: Subject, render: Render) -> bool:
    """Return whether the template reads the calls of a message."""
    variables = subject.variables(render, tools=True, generation=False)
    messages = [WatchedMessage(dict(message)) for message in render.messages]
    try:
        subject.rendering.render_prepared({**variables, "messages": messages})
    except TemplateRenderError:
        return False
    return any(FIELD in message.read_keys for message in messages)
