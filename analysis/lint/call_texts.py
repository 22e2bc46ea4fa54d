"""Calls as what reads them would: the JSON value or the Python call that holds an argument.

The judges are Python's own: `json` and `ast`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_shape import EmptyContent
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

from .conversation_matrix import PlayedConversation, Voice, WrittenText
from .lint_renders import Render, quote_text
from .subject import Subject

# How a call's arguments stand in the text, value by value.


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """An argument's value as it stands in the text."""

    text: str
    """What stands where a word would stand, less the quotes that words have, too."""
    render: Render


def render_call(subject: Subject, **arguments: Json) -> Render:
    """Render a conversation that ends in one call with exactly these arguments."""
    call = ToolCall(subject.marks.names[0], arguments, subject.marks.ids[0])
    return subject.play(subject.turn(Message(calls=(call,))), tools=True)


WHOLE_NUMBERS = (7, -40, 1234567, 9007199254740993)
FRACTIONS = (2.75, -1234.0625)
"""Numbers that a format to two digits, groups of thousands or a cast alter, the plainest first."""


def call_numbers(subject: Subject) -> dict[str, float]:
    """Return the arguments of a call that has a whole number and a fraction."""
    keys = subject.marks.typed_keys
    return {keys[JsonType.INTEGER]: WHOLE_NUMBERS[-1], keys[JsonType.NUMBER]: FRACTIONS[-1]}


def value_writing(
    subject: Subject, value: Json, kind: JsonType = JsonType.STRING
) -> WrittenValue | None:
    """See how a value is written, as the argument that the tool declares to be of this type.

    None where it raises, or where words themselves are not written there.
    """
    key = subject.marks.typed_keys[kind]
    one, other = (render_call(subject, **{key: word}) for word in subject.marks.values[:2])
    render = render_call(subject, **{key: value})
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
    render = render_call(subject, **arguments)
    # After the user's message: the tools may have been described in Python before it.
    name, text = marks.names[0], render.text[render.text.rfind(marks.user) :]
    called, quoted = text.rfind(f"{name}("), text.rfind(repr(name))
    if called >= 0:
        return any(_is_call(piece, arguments) for piece in _pieces(text, called, ")"))
    start = text.rfind("{", 0, quoted) if quoted >= 0 else -1
    return start >= 0 and any(
        isinstance(_literal(piece), dict) for piece in _pieces(text, start, "}")
    )


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
        given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        return False
    return given == arguments


# A call whose arguments are JSON text, and the same call with an object.


def render_both_forms(subject: Subject) -> tuple[Render, Render]:
    """Render a call with its arguments as JSON text, and as an object."""
    return with_arguments(subject, as_string=True), with_arguments(subject, as_string=False)


def with_arguments(subject: Subject, *, as_string: bool) -> Render:
    """Render a call with its arguments in one of the two forms, whatever the shape has."""
    call = subject.call()
    messages = subject.shape.messages(subject.turn(Message(calls=(call,))), subject.marks.system)
    arguments = json.dumps(dict(call.arguments)) if as_string else dict(call.arguments)
    for message in messages:
        calls = message.get("tool_calls")
        for given in calls if isinstance(calls, list) else ():
            if isinstance(given, dict):
                function = given.get("function")
                (function if isinstance(function, dict) else given)["arguments"] = arguments
    return subject.render(
        messages,
        tools=subject.usual_tools,
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )


class DocumentKind(StrEnum):
    """What a call is a part of."""

    LIST = "a JSON list"
    OBJECT = "a JSON object"
    PYTHON = "a Python call"


@dataclass(frozen=True, slots=True)
class CallSpan:
    """The texts of one message's calls, and the render from the text before to the text after."""

    texts: tuple[WrittenText, ...]
    start: int
    text: str
    following: Voice | None
    """Whose text comes after the calls; None where they are the last."""

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """What stands between two calls, with the name of the second of them."""
        pairs = zip(self.texts, self.texts[1:], strict=False)
        return tuple(
            (one.after, other.spoken.call.name)
            for one, other in pairs
            if other.spoken.call is not None and one.spoken.call != other.spoken.call
        )


def call_spans(played_chat: PlayedConversation) -> list[CallSpan]:
    """Return the calls of each message that has any, in the order of the render."""
    spans: list[CallSpan] = []
    group: list[WrittenText] = []
    for text in (*played_chat.written_texts, None):
        goes_on = bool(group) and text is not None and text.spoken.entry == group[0].spoken.entry
        if group and not goes_on:
            following = None if text is None else text.spoken.voice
            spans.append(_span(played_chat, group, following))
            group = []
        if text is not None and text.spoken.voice is Voice.CALL:
            group.append(text)
    return spans


def _span(
    played_chat: PlayedConversation, group: list[WrittenText], following: Voice | None
) -> CallSpan:
    first, last = group[0], group[-1]
    start = first.start - len(first.before)
    end = last.start + len(last.spoken.text) + len(last.after)
    return CallSpan(tuple(group), start, played_chat.render.text[start:end], following)


def document_kind(span: CallSpan, text: WrittenText) -> DocumentKind | None:
    """Return the outermost document that holds an argument; None where none can be read."""
    place = text.start - span.start
    for at in range(place):
        if span.text[at] in "[{":
            value = _json_from(span.text, at, place)
            if value is not None:
                return DocumentKind.LIST if isinstance(value, list) else DocumentKind.OBJECT
    call = text.spoken.call
    name = "" if call is None else f"{call.name}("
    at = span.text.rfind(name, 0, place) if name else -1
    return DocumentKind.PYTHON if at >= 0 and _is_python(span.text, at, place) else None


def broken_object(span: CallSpan, text: WrittenText) -> str:
    """Quote what of the object that an argument stands in is not JSON; empty where all is.

    An object is what begins with a quote after its brace, as JSON's do, and closes behind the
    argument: ``{"name": look, "arguments": {"city": "Oslo"}}``.
    """
    place = text.start - span.start
    for opening in _OBJECT.finditer(span.text, 0, place):
        piece = _braced(span.text, opening.start())
        if opening.start() + len(piece) <= place:
            continue
        try:
            json.loads(piece)
        except (ValueError, RecursionError) as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else 0
            if _literal(piece) is None:
                return quote_text(piece[at:])
        return ""
    return ""


_OBJECT = re.compile(r'\{\s*"')


def _braced(text: str, start: int) -> str:
    """Return the text from a brace to the one that closes it, strings aside; empty without one."""
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if not depth:
            return text[start : token.end()]
    return ""


_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def _literal(text: str) -> object:
    """Return the value of a Python literal, or None if the text is none."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _json_from(text: str, start: int, place: int) -> object:
    """Read JSON from a place on; None unless it reaches another place."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if end > place else None


def _is_python(text: str, start: int, place: int) -> bool:
    end = text.find(")", place)
    if end < 0:
        return False
    try:
        return isinstance(ast.parse(text[start : end + 1], mode="eval").body, ast.Call)
    except (SyntaxError, ValueError, RecursionError):
        return False
