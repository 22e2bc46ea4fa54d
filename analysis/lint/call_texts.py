"""Arguments in rendered calls, and the JSON value or Python call that contains them.

Python's own `json` and `ast` decide what is JSON or Python: in `<tool_call>{"name": "look",
"arguments": {"city": "Oslo"}}` the argument `Oslo` is in a JSON object, in `[look(city="Oslo")]` in
a Python call. For a template that writes `<call>look(city=True)</call>`:

    value_writing(subject, True, JsonType.BOOLEAN).text  # 'True'
    written_as_python(subject)  # True
    document_kind(span, span.texts[0])  # DocumentKind.PYTHON
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.message_shape import EmptyContent
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

from .conversation_matrix import PlayedConversation, Voice, WrittenText
from .hit_words import quote_text
from .lint_renders import Render
from .subject import Subject

# The text of a call's arguments, value by value.


class WrittenValue(Struct, frozen=True):
    """The text of an argument's value."""

    text: str
    """The text at the place of a word, without the quotes that words have too, e.g. ``2.75``."""
    render: Render
    """The render that contains it, e.g. one with ``"arguments": {"mcdsbpxt": "zhvwxqzm"}``."""


def render_call(subject: Subject, **arguments: Json) -> Render:
    """Render a conversation that ends in one call with exactly these arguments."""
    call = ToolCall(subject.marks.names[0], arguments, subject.marks.ids[0])
    return subject.play(subject.turn(Message(calls=(call,))), tools=True)


WHOLE_NUMBERS = (7, -40, 1234567, 9007199254740993)
FRACTIONS = (2.75, -1234.0625)
"""Numbers that rounding to two digits, grouping of thousands or a cast alters, the plainest first.
The last integer is 2**53 + 1, which no float holds."""


def call_numbers(subject: Subject) -> dict[str, float]:
    """Return the arguments of a call with an integer and a fraction."""
    keys = subject.marks.typed_keys
    return {keys[JsonType.INTEGER]: WHOLE_NUMBERS[-1], keys[JsonType.NUMBER]: FRACTIONS[-1]}


def value_writing(
    subject: Subject, value: Json, kind: JsonType = JsonType.STRING
) -> WrittenValue | None:
    """Return the text of a value in an argument that the tool declares with this type.

    Return None if the template raises or does not write arguments.
    """
    key = subject.marks.typed_keys[kind]
    # Two words show where the value begins and ends, whatever markup is around it.
    one, other = (render_call(subject, **{key: word}) for word in subject.marks.values[:2])
    render = render_call(subject, **{key: value})
    if not (one.rendered and other.rendered and render.rendered) or one.text == other.text:
        return None
    before = one.text[: prefix_length(one.text, other.text)]
    after = one.text[len(one.text) - suffix_length(one.text, other.text) :]
    # Quotes around the words may be missing around this value, so cut only what agrees.
    rest = render.text[prefix_length(render.text, before) :]
    end = len(rest) - suffix_length(rest, after)
    return WrittenValue(rest[:end], render)


def written_as_python(subject: Subject) -> bool:
    """Return whether a call is Python throughout, so that True and None are correct in it.

    It is a call of the function, or a dictionary with the function's name in Python's quotes.
    """
    marks = subject.marks
    arguments: dict[str, Json] = {
        marks.typed_keys[JsonType.BOOLEAN]: True,
        marks.typed_keys[JsonType.NULL]: None,
    }
    render = render_call(subject, **arguments)
    # Search after the user's message: the tools before it may be described in Python.
    name, text = marks.names[0], render.text[render.text.rfind(marks.user) :]
    called, quoted = text.rfind(f"{name}("), text.rfind(repr(name))
    if called >= 0:
        return any(_is_call(piece, arguments) for piece in _pieces(text, called, ")"))
    # Not a call of the function: look for a dictionary with its name.
    start = text.rfind("{", 0, quoted) if quoted >= 0 else -1
    return start >= 0 and any(
        isinstance(_python_value(piece), dict) for piece in _pieces(text, start, "}")
    )


def _pieces(text: str, start: int, close: str) -> Iterator[str]:
    """Yield the text from an offset up to each closing bracket."""
    # A string in the call may contain the bracket, so the first one need not be the end.
    for index in range(start, len(text)):
        if text[index] == close:
            yield text[start : index + 1]


def _is_call(text: str, arguments: dict[str, Json]) -> bool:
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return False
        given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        return False
    return given == arguments


# A call whose arguments are a JSON string, and the same call with an object.


def render_both_forms(subject: Subject) -> tuple[Render, Render]:
    """Render a call with its arguments as a JSON string, and as an object."""
    return with_arguments(subject, as_string=True), with_arguments(subject, as_string=False)


def with_arguments(subject: Subject, *, as_string: bool) -> Render:
    """Render a call with its arguments in one of the two forms, regardless of the shape."""
    call = subject.call()
    messages = subject.shape.messages(subject.turn(Message(calls=(call,))), subject.marks.system)
    arguments = json.dumps(dict(call.arguments)) if as_string else dict(call.arguments)
    for message in messages:
        calls = message.get("tool_calls")
        for given in calls if isinstance(calls, list) else ():
            if isinstance(given, dict):
                function = given.get("function")
                # In some shapes, a call has no `function` around its name and arguments.
                (function if isinstance(function, dict) else given)["arguments"] = arguments
    return subject.render(
        messages,
        tools=subject.usual_tools,
        as_given=subject.shape.empty_content is EmptyContent.NULL,
    )


class DocumentKind(StrEnum):
    """The kind of document that contains a call."""

    LIST = "a JSON list"
    OBJECT = "a JSON object"
    PYTHON = "a Python call"


class CallSpan(Struct, frozen=True):
    """The texts of one message's calls, and the render around them."""

    texts: tuple[WrittenText, ...]
    """The arguments' texts, in the order of the render, e.g. of one call the `WrittenText` of
    ``"zhvwxqzm"``."""
    start: int
    """The offset of `text` in the render, e.g. 2734 after the list of tools."""
    text: str
    r"""The render from the text before the calls to the text after them, e.g.
    ``"<|eot|><|header|>assistant<|/header|>\n\n<tool>{…}</tool>…"``."""
    following: Voice | None
    """The speaker of the text after the calls, e.g. ``Voice.RESULT``, or None at the end."""

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """The markup between two calls, e.g. ``"}}, {"``, with the name of the second."""
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
    # The final None closes the last group.
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
    """Return the kind of the outermost document around an argument, or None if it is neither."""
    place = text.start - span.start
    for index in range(place):
        if span.text[index] in "[{":
            # The first bracket whose value extends past this place is the outermost one.
            value = json_from(span.text, index, place)
            if value is not None:
                return DocumentKind.LIST if isinstance(value, list) else DocumentKind.OBJECT
    call = text.spoken.call
    name = "" if call is None else f"{call.name}("
    # The last one before the argument: the tools may be described in the same form.
    index = span.text.rfind(name, 0, place) if name else -1
    return DocumentKind.PYTHON if index >= 0 and _is_python(span.text, index, place) else None


def broken_object(span: CallSpan, text: WrittenText) -> str:
    """Quote the invalid part of the JSON object around an argument; return empty if it is valid.

    Objects are recognized by a quote after the brace, as in JSON, and must close after the
    argument: ``{"name": look, "arguments": {"city": "Oslo"}}``.
    """
    place = text.start - span.start
    for opening in _OBJECT.finditer(span.text, 0, place):
        piece = _braced_text(span.text, opening.start())
        # This object, e.g. in the tools' definitions, ends before the argument.
        if opening.start() + len(piece) <= place:
            continue
        try:
            json.loads(piece)
        except (ValueError, RecursionError) as error:
            start = error.pos if isinstance(error, json.JSONDecodeError) else 0
            # A Python dictionary is well-formed in its own notation.
            if _python_value(piece) is None:
                return quote_text(piece[start:])
        return ""
    return ""


_OBJECT = re.compile(r'\{\s*"')


def _braced_text(text: str, start: int) -> str:
    """Return the text from a brace to its closing one, ignoring strings; empty if unclosed."""
    depth = 0
    for token in _STRING_OR_BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if not depth:
            return text[start : token.end()]
    return ""


_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def _python_value(text: str) -> object:
    """Return the value of a Python literal, or None if the text is not one."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def json_from(text: str, start: int, place: int) -> object:
    """Return the JSON value at an offset, or None unless it extends past a place."""
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
