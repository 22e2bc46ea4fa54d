"""How a call's arguments stand in the text, value by value."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from autoparser.analysis.alignment import prefix_length
from autoparser.analysis.conversation import Json, Message, ToolCall
from autoparser.analysis.format import JsonType

from .renders import Render
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Written:
    """An argument's value as it stands in the text."""

    text: str
    """What stands where a word would stand, less the quotes that words have, too."""
    render: Render


def calling(subject: Subject, **arguments: Json) -> Render:
    """Render a conversation that ends in one call with exactly these arguments."""
    call = ToolCall(subject.marks.names[0], arguments, subject.marks.ids[0])
    return subject.play(subject.turn(Message(calls=(call,))), tools=True)


def written(subject: Subject, value: Json, kind: JsonType = JsonType.STRING) -> Written | None:
    """See how a value is written, as the argument that the tool declares to be of this type.

    None where it raises, or where words themselves are not written there.
    """
    key = subject.marks.typed_keys[kind]
    one, other = (calling(subject, **{key: word}) for word in subject.marks.values[:2])
    render = calling(subject, **{key: value})
    if not (one.rendered and other.rendered and render.rendered) or one.text == other.text:
        return None
    before = one.text[: prefix_length(one.text, other.text)]
    behind = one.text[::-1][: prefix_length(one.text[::-1], other.text[::-1])]
    rest = render.text[prefix_length(render.text, before) :]
    end = len(rest) - prefix_length(rest[::-1], behind)
    return Written(rest[:end], render)


def written_as_python(subject: Subject) -> bool:
    """Whether a call is a call in Python: there, True and None are the words to use."""
    marks = subject.marks
    arguments: dict[str, Json] = {
        marks.typed_keys[JsonType.STRING]: marks.values[0],
        marks.typed_keys[JsonType.BOOLEAN]: True,
    }
    render = calling(subject, **arguments)
    start = render.text.rfind(f"{marks.names[0]}(") if render.rendered else -1
    if start < 0:
        return False
    ends = [at for at, letter in enumerate(render.text) if letter == ")" and at > start]
    return any(_is_call(render.text[start : at + 1], arguments) for at in ends)


def _is_call(text: str, arguments: dict[str, Json]) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return False
        given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError):
        return False
    return given == arguments
