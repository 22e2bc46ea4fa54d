from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import (
    WrittenValue,
    render_call,
    value_writing,
    written_as_python,
)
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

LITERALS: tuple[tuple[Json, JsonType, str], ...] = (
    (True, JsonType.BOOLEAN, "true"),
    (False, JsonType.BOOLEAN, "false"),
    (None, JsonType.NULL, "null"),
)


@rule("AP507")
def check(subject: Subject) -> Iterator[Hit]:
    """Render each of the three, unless calls are Python throughout."""
    keys = subject.marks.typed_keys
    both = render_call(subject, **{keys[JsonType.BOOLEAN]: True, keys[JsonType.NULL]: None})
    # One call with both is enough for most templates.
    if not any(str(value) in both.text for value in (True, None)):
        return
    found: dict[str, WrittenValue] = {}
    for value, kind, word in LITERALS:
        seen = value_writing(subject, value, kind)
        if seen is not None and seen.text.strip() == str(value):
            found[word] = seen
    if not found or written_as_python(subject):
        return
    words = [f"{written.text.strip()} for {word}" for word, written in found.items()]
    kinds = ["booleans"] * (found.keys() != {"null"}) + ["null"] * ("null" in found)
    verb = (
        "is rendered as a Python literal"
        if kinds == ["null"]
        else "are rendered as Python literals"
    )
    first = next(iter(found.values()))
    yield Hit(
        f"{' and '.join(kinds)} {verb} in calls: {', '.join(words)}",
        tuple(
            show_render(written.render, f"a call with {word}") for word, written in found.items()
        ),
        line=first.render.line_of(first.text),
    )
