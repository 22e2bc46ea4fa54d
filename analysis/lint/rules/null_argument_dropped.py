from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP511")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a call with and without an argument that is null."""
    marks = subject.marks
    key = marks.typed_keys[JsonType.NULL]
    bare = render_call(subject, **{marks.keys[0]: marks.values[0]})
    null = render_call(subject, **{marks.keys[0]: marks.values[0], key: None})
    word = render_call(subject, **{marks.keys[0]: marks.values[0], key: marks.values[1]})
    if null.rendered and null.text == bare.text != word.text and key in word.text:
        yield Hit(
            "an argument that is null is not in the prompt",
            (compare_renders(null, "with an argument that is null", bare, "without it"),),
        )
