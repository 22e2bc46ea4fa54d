from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP527")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a result with its name, and without."""
    messages = subject.shape.messages(subject.loop, subject.marks.system)
    nameless: list[dict[str, Json]] = [
        {key: value for key, value in message.items() if key != "name"} for message in messages
    ]
    named = subject.render(messages, tools=subject.usual_tools)
    render = subject.render(nameless, tools=subject.usual_tools)
    both = (render, "without a name"), (named, "with the function's name")
    if not named.rendered:
        return
    if render.error is not None:
        yield raising_hit(
            f"fails on tool results without a name, as chat APIs send them: {render.reason}",
            *both,
        )
    elif render.text != named.text:
        yield Hit(
            "a tool result without a name, as chat APIs send it, renders differently from"
            " one with a name",
            (compare_renders(*both[0], *both[1]),),
            line=parting_line(render, named),
            severity=Severity.INFO,
        )
