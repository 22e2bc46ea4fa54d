from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

PARAMETERS: dict[str, Json] = {"type": "object", "properties": {}}
DESCRIPTION = "Does what it says."


@rule("AP520", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render a question with tools that lack one thing each, and with a strict one."""
    messages = subject.shape.messages((subject.user,), subject.marks.system)
    whole = subject.render(messages, tools=subject.usual_tools)
    if subject.usual_tools is None or not whole.rendered:
        return
    for lack, tool in _lacking(subject.marks.names[0]):
        render = subject.render(messages, tools=offered_tools([tool], subject.shape))
        if render.error is not None:
            yield raising_hit(
                f"fails on tools {lack}: {render.reason}",
                (render, f"a tool {lack}"),
                (whole, "tools with all fields"),
                refused=Severity.INFO,
            )


def _lacking(name: str) -> Iterator[tuple[str, Tool]]:
    described: Tool = {"name": name, "description": DESCRIPTION}
    empty: Tool = {**described, "parameters": PARAMETERS}
    yield "with empty parameters", empty
    yield "with `strict`", {**empty, "strict": True}
    yield "without parameters", described
    yield "without a description", {"name": name, "parameters": PARAMETERS}
