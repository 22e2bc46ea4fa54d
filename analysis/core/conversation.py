r"""An assistant message as plain values, as parsers return it and formats write it.

For example, a parser returned content with a line break at its end:

    >>> judge = ReadingJudge(lambda one, other: False, lambda call: True)
    >>> verdict = judge.judge(Message("Hi."), ReadMessage("Hi.\n"))
    >>> verdict.agreement, verdict.part, verdict.right
    (<MessageAgreement.EDGES: 'edges'>, 'content', True)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from .error_words import (
    is_list,
    is_mapping,
)

# Values of YAML and Python that JSON lacks: dates, sets, keys that are not strings.


DEEPEST = 128
"""The deepest nesting of a request; no client sends as many levels."""


def beyond_json(value: object, place: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield the place of each value that is not JSON, the fault, and the way out.

    A template would see a placeholder for it: `date: 2025-01-01` in YAML is a date, not a string.
    An anchor of YAML may contain itself, as in `&a [*a]`, which never ends.
    """
    if depth > DEEPEST:
        words = f"this is nested more than {DEEPEST} levels deep, or contains itself"
        yield f"{place[:_SHOWN]}…", words, "write a flatter value"
    elif is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str):
                yield from beyond_json(item, f"{place}.{key}", depth + 1)
            else:
                yield place, f"the key {key!r} is not a string", _QUOTE
    elif is_list(value):
        for at, item in enumerate(value):
            yield from beyond_json(item, f"{place}[{at}]", depth + 1)
    elif value is not None and not isinstance(value, str | int | float | bool):
        yield place, f"a {type(value).__name__} is not a JSON value", _QUOTE


_QUOTE = "put it in quotes"
_SHOWN = 60
"""How many characters of a too deep place are shown."""


if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    # msgspec reads and writes classes with such fields, and lacks recursive types.
    Json = Any


class Presence(NamedTuple):
    """Which parts an assistant message has; a template has one layout for each combination."""

    reasoning: bool = False
    """Whether its reasoning is not empty: `True` for `Message(reasoning="A lookup is due.")`."""
    content: bool = False
    """Whether its content is not empty: `True` for `Message("Here is what I found.")`."""
    calls: bool = False
    """Whether it has calls: `True` for 1 call or more."""

    def __str__(self) -> str:
        """Name the parts, as reports print them."""
        return " + ".join(name for name, there in self._asdict().items() if there) or "nothing"


class ToolCall(Struct, frozen=True):
    """A tool call with decoded arguments, e.g. `ToolCall("get_forecast", {"city": "Oslo"})`."""

    name: str
    """The function's name, e.g. `"get_forecast"`."""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The arguments by name, e.g. `{"city": "Oslo", "days": 3}`."""
    id: str = ""
    """The id for the tool's result, e.g. `"aB3dE6gH1"`; empty without one."""


class Message(Struct, frozen=True):
    """An assistant message, e.g. `Message("Hi.", reasoning="Hm.")`; an empty text is absent."""

    content: str = ""
    """The answer for the user, e.g. `"Here is what I found."`."""
    reasoning: str = ""
    r"""The thoughts before it, e.g. `"The user wants facts.\nA lookup is due."`."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls in their order, such as
    `(ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "aB3dE6gH1"),)`."""

    @property
    def presence(self) -> Presence:
        """Which parts the message has."""
        return Presence(bool(self.reasoning), bool(self.content), bool(self.calls))

    def to_dict(self) -> dict[str, Json]:
        """Return the message as reports show it: only the parts that are not empty."""
        parts: dict[str, Json] = {}
        if self.reasoning:
            parts["reasoning"] = self.reasoning
        if self.content:
            parts["content"] = self.content
        if self.calls:
            parts["calls"] = [
                {"name": call.name, "arguments": dict(call.arguments), "id": call.id}
                for call in self.calls
            ]
        return parts


# Images, videos and sounds as parts of a message's content, in the forms that callers send.
#
# These are the forms of transformers' processors, of OpenAI's API, and of compatible engines. A
# tokenizer passes each form to the template unchanged; a processor of transformers first turns
# `{type: image_url, image_url: {url: …}}` into `{type: image, url: …}`.


class MediaKind(StrEnum):
    """The kinds of content parts that are not text."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"


class MediaForm(Struct, frozen=True):
    """One way of giving a media part."""

    kind: MediaKind
    """The medium, such as `MediaKind.IMAGE`."""
    name: str
    """The form in words, such as `"image with url"`."""
    type: str
    """The part's `type`, such as `"image_url"`."""
    key: str = ""
    """The key of the data, such as `"image_url"`; empty if data is passed beside the messages."""
    inner: str = ""
    """The key inside that object, such as `"url"`; empty if the data is not nested."""

    def part(self, data: str) -> dict[str, Json]:
        """Return a part of this form with its data: an address, a path, base64."""
        if not self.key:
            return {"type": self.type}
        if not self.inner:
            return {"type": self.type, self.key: data}
        held: dict[str, Json] = {self.inner: data}
        # OpenAI's API requires the format of audio.
        if self.key == "input_audio":
            held["format"] = "wav"
        return {"type": self.type, self.key: held}


def _forms(kind: MediaKind) -> tuple[MediaForm, ...]:
    name = kind.value
    own = tuple(MediaForm(kind, f"{name} with {key}", name, key) for key in (name, "url", "path"))
    address = f"{name}_url"
    return (MediaForm(kind, name, name), *own, MediaForm(kind, address, address, address, "url"))


MEDIA_FORMS: tuple[MediaForm, ...] = (
    *_forms(MediaKind.IMAGE),
    *_forms(MediaKind.VIDEO),
    *_forms(MediaKind.AUDIO),
    MediaForm(MediaKind.AUDIO, "input_audio", "input_audio", "input_audio", "data"),
)
"""Every form, the plainest of each kind first."""

_KINDS = {form.type: form.kind for form in MEDIA_FORMS}


def media_kind(part: object) -> MediaKind | None:
    """Return the medium of a part of a message's content, or None if it is not a media part.

    A part without a type has the medium of its key, as in `{image: …}`.
    """
    if not is_mapping(part):
        return None
    given = part.get("type")
    if isinstance(given, str):
        return _KINDS.get(given)
    return next((kind for name, kind in _KINDS.items() if name in part), None)


# A conversation without field names: user messages, assistant messages and tool results.


class UserMessage(Struct, frozen=True):
    """One user message."""

    text: str
    """The user's words, such as `"What is the weather in Oslo?"`."""
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds before the text, such as `(MediaKind.IMAGE,)`."""


class ToolResult(Struct, frozen=True):
    """One tool result: the answer to the call with this id."""

    text: str
    """The result's text, such as `'{"sky": "clear"}'`."""
    name: str
    """The name of the function that was called, such as `"get_forecast"`."""
    call_id: str
    """The id of the call, such as `"aB3dE6gH1"`."""
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds before the text, such as `(MediaKind.IMAGE,)`."""


Entry: TypeAlias = UserMessage | Message | ToolResult
Dialogue: TypeAlias = tuple[Entry, ...]

# A message that a program parsed, compared with the message that the text means.
#
# Contract: arguments are compared as JSON, names and their order exactly, reasoning and content
# exactly and up to the whitespace at their edges. A template may write two messages alike; then
# no parser can distinguish them, and either is right. So the judge is the template, not a format
# of ours: a message parsed with other whitespace, or with other arguments that their schema
# allows, is right if the template renders it to the very text that was parsed.


class MessageAgreement(StrEnum):
    """How far a parsed message equals the expected one."""

    EXACT = "exact"
    EDGES = "edges"
    """Equal except for whitespace at the edges of the reasoning or the content."""
    OTHER = "other"


class ReadCall(Struct, frozen=True):
    """A call as a program parsed it."""

    name: str
    """The function's name, such as `"get_forecast"`."""
    arguments: str
    """JSON text, as servers return it, and perhaps invalid: `'{"city": "Oslo"}'`."""

    @property
    def as_json(self) -> Json:
        """The call with its arguments decoded, or as text if they are not valid JSON."""
        try:
            arguments: Json = json.loads(self.arguments)
        except ValueError:
            arguments = self.arguments
        return {"name": self.name, "arguments": arguments}


class ReadMessage(Struct, frozen=True):
    """A message as a program parsed it. An empty text is an absent one."""

    content: str = ""
    """The content, such as `"Here is what I found."`."""
    reasoning: str = ""
    """The reasoning, such as `"A lookup is due."`."""
    calls: tuple[ReadCall, ...] = ()
    """The calls in their order, such as
    `(ReadCall("get_forecast", '{"city": "Oslo", "days": 3}'),)`."""

    @classmethod
    def of(cls, message: Message) -> ReadMessage:
        """Return the result of a program that parses a message correctly."""
        calls = [ReadCall(call.name, json.dumps(dict(call.arguments))) for call in message.calls]
        return cls(message.content, message.reasoning, tuple(calls))


class ReadingVerdict(Struct, frozen=True):
    """How one message was parsed, with the first difference if there is one."""

    agreement: MessageAgreement
    """How far the messages are equal, such as `MessageAgreement.EDGES` if only whitespace at the
    edges of a text differs."""
    part: str = ""
    """The part that differs, such as `"content"` or `"arguments of get_forecast"`."""
    expected: str = ""
    """The text that was expected of that part, such as `"Hi."`; of calls, their names as JSON."""
    actual: str = ""
    r"""The text that was parsed instead, such as `"Hi.\n"`."""

    @property
    def right(self) -> bool:
        """Whether nothing but whitespace at edges differs."""
        return self.agreement is not MessageAgreement.OTHER


class ReadingJudge(Struct, frozen=True):
    """Compares parsed messages with those that a template rendered."""

    written_alike: Callable[[Message, Message], bool]
    """Whether the template renders both messages to the same text."""
    allowed: Callable[[ToolCall], bool]
    """Whether the schema of a call's tool allows its arguments."""

    def judge(self, expected: Message, read: ReadMessage) -> ReadingVerdict:
        """Compare a message with the one that was parsed from its render."""
        found = next(self._differences(expected, read), None)
        if found is not None:
            return found
        as_read = replace(expected, content=read.content, reasoning=read.reasoning)
        if as_read == expected or self.written_alike(expected, as_read):
            return ReadingVerdict(MessageAgreement.EXACT)
        part = "reasoning" if as_read.reasoning != expected.reasoning else "content"
        texts = (str(getattr(message, part)) for message in (expected, as_read))
        return ReadingVerdict(MessageAgreement.EDGES, part, *texts)

    def _differences(self, expected: Message, read: ReadMessage) -> Iterator[ReadingVerdict]:
        names, called = ([call.name for call in calls] for calls in (expected.calls, read.calls))
        if names != called:
            yield _difference("calls", json.dumps(names), json.dumps(called))
            return
        for at, given in enumerate(read.calls):
            meant = expected.calls[at]
            call = _decode_call(given, meant)
            if call is None or not self._same_call(expected, at, call):
                part = f"arguments of {meant.name}"
                yield _difference(part, json.dumps(dict(meant.arguments)), given.arguments)
        for part in ("reasoning", "content"):
            one, other = getattr(expected, part), getattr(read, part)
            if one.strip() != other.strip():
                yield _difference(part, one, other)

    def _same_call(self, expected: Message, at: int, call: ToolCall) -> bool:
        if same_json(dict(expected.calls[at].arguments), dict(call.arguments)):
            return True
        calls = (*expected.calls[:at], call, *expected.calls[at + 1 :])
        return self.allowed(call) and self.written_alike(expected, replace(expected, calls=calls))


def same_json(one: Json, other: Json) -> bool:
    """Return whether two values are equal as JSON: 1 is 1.0, but not true; keys have no order."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(
                same_json(one[key], other[key]) for key in one
            )
        case list(), list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(same_json(*pair) for pair in pairs)
        case (bool(), _) | (_, bool()):
            return one is other
        case _:
            return one == other


def _difference(part: str, expected: str, actual: str) -> ReadingVerdict:
    return ReadingVerdict(MessageAgreement.OTHER, part, expected, actual)


def _decode_call(read_call: ReadCall, meant: ToolCall) -> ToolCall | None:
    """Return the call with the expected id and key order, or None if it is not JSON."""
    try:
        value: Json = json.loads(read_call.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # The order of keys is not compared, but a template may render them in the given order.
    ordered = {key: value[key] for key in meant.arguments if key in value}
    return ToolCall(read_call.name, {**ordered, **value}, meant.id)


# Tools to offer, since a template may look up a call's name and arguments in their schemas.


Tool: TypeAlias = dict[str, Json]


def function_of(tool: object) -> Any:
    """Return a tool's function, in OpenAI's wrapper or bare, or None if it is not an object."""
    function = tool.get("function", tool) if is_mapping(tool) else None
    return function if is_mapping(function) else None


def with_properties(tool: Tool, change: Callable[[str, Any], Json], **more: Json) -> Tool:
    """Return a tool with changed properties, and with the keywords of `more` in its parameters."""
    parameters: Any = tool["parameters"]
    changed = {key: change(key, schema) for key, schema in parameters["properties"].items()}
    return {**tool, "parameters": {**parameters, "properties": changed, **more}}


def tool_for(name: str, description: str, properties: Mapping[str, str]) -> Tool:
    """Return a function whose parameters are `properties`: JSON type by name.

    It is the inner object; `MessageShape.tool` adds the wrapper if a template expects it.
    """
    typed: dict[str, Json] = {}
    for key, kind in properties.items():
        schema: dict[str, Json] = {"type": kind, "description": description}
        if kind == "array":
            schema["items"] = {"type": "string"}
        elif kind == "object":
            schema["additionalProperties"] = {"type": "string"}
        typed[key] = schema
    required: list[Json] = list(properties)
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": typed, "required": required},
    }
