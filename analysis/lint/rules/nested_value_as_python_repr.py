from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import render_call, written_as_python
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP508")
def check(subject: Subject) -> Iterator[Hit]:
    """Render an object and an array, unless calls are Python throughout."""
    marks = subject.marks
    key, word, keys = marks.keys[1], marks.values[2], marks.typed_keys
    nested: dict[JsonType, Json] = {JsonType.OBJECT: {key: word}, JsonType.ARRAY: [word]}
    render = render_call(subject, **{keys[kind]: value for kind, value in nested.items()})
    shown = [str(value) for value in nested.values() if str(value) in render.text]
    if shown and not written_as_python(subject):
        yield Hit(
            f"a call contains {' and '.join(shown)}, which is Python and not JSON",
            (show_render(render, "a call with an object and an array"),),
            line=render.line_of(shown[0]),
        )
