"""How a call's arguments stand in the text, value by value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.alignment import prefix_length, suffix_length
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format import JsonType

from .lint_renders import Render
from .subject import Subject


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """An argument's value as it stands in the text."""

    text: str
    """What stands where a word would stand, less the quotes that words have, too."""
    render: Render


def calling(subject: Subject, **arguments: Json) -> Render:
    """Render a conversation that ends in one call with exactly these arguments."""
    call = ToolCall(subject.marks.names[0], arguments, subject.marks.ids[0])
    return subject.play(subject.turn(Message(calls=(call,))), tools=True)


def written(subject: Subject, value: Json, kind: JsonType = JsonType.STRING) -> WrittenValue | None:
    """See how a value is written, as the argument that the tool declares to be of this type.

    None where it raises, or where words themselves are not written there.
    """
    key = subject.marks.typed_keys[kind]
    one, other = (calling(subject, **{key: word}) for word in subject.marks.values[:2])
    render = calling(subject, **{key: value})
    if not (one.rendered and other.rendered and render.rendered) or one.text == other.text:
        return None
    before = one.text[: prefix_length(one.text, other.text)]
    after = one.text[len(one.text) - suffix_length(one.text, other.text) :]
    rest = render.text[prefix_length(render.text, before) :]
    end = len(rest) - suffix_length(rest, after)
    return WrittenValue(rest[:end], render)


def written_as_python(subject: Subject) -> bool:
    """Whether a call is Python throughout: there, True and None are the words to use.

    It is a call of the function, or a dictionary with the function's name in Python's quotes.
    """
    marks = subject.marks
    arguments: dict[str, Json] = {
        marks.typed_keys[JsonType.BOOLEAN]: True,
        marks.typed_keys[JsonType.NULL]: None,
    }
    render = calling(subject, **arguments)
    # After the user's message: the tools may have been described in Python before it.
    name, text = marks.names[0], render.text[render.text.rfind(marks.user) :]
    called, quoted = text.rfind(f"{name}("), text.rfind(repr(name))
    if called >= 0:
        return any(_is_call(piece, arguments) for piece in _pieces(text, called, ")"))
    start = text.rfind("{", 0, quoted) if quoted >= 0 else -1
    return start >= 0 and any(_is_dictionary(piece) for piece in _pieces(text, start, "}"))


def _pieces(text: str, start: int, close: str) -> Iterator[str]:
    """Return the text from a place on up to each closing bracket."""
    for at in range(start, len(text)):
        if text[at] == close:
            yield text[start : at + 1]


def _is_call(text: str, arguments: dict[str, Json]) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return False
        given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError):
        return False
    return given == arguments


def _is_dictionary(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), dict)
    except (SyntaxError, ValueError):
        return False
