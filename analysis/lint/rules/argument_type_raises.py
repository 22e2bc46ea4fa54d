from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import raising_hit
from autoparser.analysis.lint.lint_renders import Render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

VALUES: dict[JsonType, Json] = {
    JsonType.INTEGER: 4,
    JsonType.NUMBER: 2.5,
    JsonType.BOOLEAN: True,
    JsonType.NULL: None,
    JsonType.ARRAY: ["a"],
    JsonType.OBJECT: {"a": "b"},
}


@rule("AP528")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call with arguments of all types; where that raises, one by one."""
    marks = subject.marks
    usual = render_call(subject, **{marks.keys[0]: marks.values[0]})
    every = {marks.typed_keys[kind]: value for kind, value in VALUES.items()}
    # One call with all types is enough for most templates.
    if not usual.rendered or render_call(subject, **every).rendered:
        return
    raising: dict[str, Render] = {}
    for kind, value in VALUES.items():
        render = render_call(subject, **{marks.typed_keys[kind]: value})
        if not render.rendered:
            raising[str(kind)] = render
    # One finding names all types; the first one is the evidence.
    for render in [*raising.values()][:1]:
        yield raising_hit(
            f"fails on calls with an argument of type {', '.join(raising)}: {render.reason}",
            (render, f"of type {next(iter(raising))}"),
            (usual, "of type string"),
        )
