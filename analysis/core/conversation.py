"""An assistant message as plain values: what a parser returns and a format writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from .errors import is_list, is_mapping

# What YAML and Python have and JSON has not: dates, sets, keys that are not text.


DEEPEST = 128
"""Objects and lists in one another that a request may have; no client sends as many."""


def beyond_json(value: object, place: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Return the place of each value that JSON does not have, what is wrong, and the way out.

    A template would see a placeholder for it: `date: 2025-01-01` in YAML is a date, no text. An
    anchor of YAML may hold itself, as in `&a [*a]`: that has no end.
    """
    if depth > DEEPEST:
        words = f"this has more than {DEEPEST} levels, or holds itself"
        yield f"{place[:_SHOWN]}…", words, "write a flatter value"
    elif is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str):
                yield from beyond_json(item, f"{place}.{key}", depth + 1)
            else:
                yield place, f"the key {key!r} is nothing that JSON has", _QUOTE
    elif is_list(value):
        for at, item in enumerate(value):
            yield from beyond_json(item, f"{place}[{at}]", depth + 1)
    elif value is not None and not isinstance(value, str | int | float | bool):
        yield place, f"a {type(value).__name__} is nothing that JSON has", _QUOTE


_QUOTE = "put it in quotes"
_SHOWN = 60
"""Characters of a place whose levels have no end."""


if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    # msgspec, which reads and writes classes with such fields, has no recursive types.
    Json = Any


class Presence(NamedTuple):
    """Which parts an assistant message has; templates lay a turn out by it."""

    reasoning: bool = False
    content: bool = False
    calls: bool = False

    def __str__(self) -> str:
        """Name the parts, as reports print them."""
        return " + ".join(name for name, there in self._asdict().items() if there) or "nothing"


class ToolCall(Struct, frozen=True):
    """One call of a function, its arguments decoded."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = ""


class Message(Struct, frozen=True):
    """One assistant message. An empty text is an absent one."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def presence(self) -> Presence:
        """Which parts the message has."""
        return Presence(bool(self.reasoning), bool(self.content), bool(self.calls))

    def to_dict(self) -> dict[str, Json]:
        """Return the message in the words of reports: only the parts that are there."""
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
# The forms are those of transformers' processors, of OpenAI's API, and of engines that follow it.
# A template sees what is passed to it: a tokenizer passes each form as it is, a processor of
# transformers makes `{type: image, url: …}` of `{type: image_url, image_url: {url: …}}` first.


class MediaKind(StrEnum):
    """What a part of the content is, other than text."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"


class MediaForm(Struct, frozen=True):
    """One way of giving a part."""

    kind: MediaKind
    name: str
    """The part's type, and the key that holds its data."""
    type: str
    key: str = ""
    """The key that holds the data; empty: the data comes beside the messages."""
    inner: str = ""
    """The key inside that, where an object holds it."""

    def part(self, data: str) -> dict[str, Json]:
        """Return a part of this form with its data: an address, a path, base64."""
        if not self.key:
            return {"type": self.type}
        if not self.inner:
            return {"type": self.type, self.key: data}
        held: dict[str, Json] = {self.inner: data}
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
    """Return the kind of medium that a part of a message's content is, or None if it is not one.

    A part without a type is of the kind whose key it has, as `{image: …}`.
    """
    if not is_mapping(part):
        return None
    given = part.get("type")
    if isinstance(given, str):
        return _KINDS.get(given)
    return next((kind for name, kind in _KINDS.items() if name in part), None)


# A conversation as the engine thinks of it: users, assistants and answers, no field names yet.


class UserMessage(Struct, frozen=True):
    """One user message."""

    text: str
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds that come before the text."""


class ToolResult(Struct, frozen=True):
    """One tool result: the answer to the call with this id."""

    text: str
    name: str
    call_id: str
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds that come before the text."""


Entry: TypeAlias = UserMessage | Message | ToolResult
Dialogue: TypeAlias = tuple[Entry, ...]

# What a program read of a model's text, judged by the message that the text means.
#
# Contract: arguments are compared as JSON, names and their order exactly, reasoning and content
# exactly and up to the whitespace at their edges. A template may write two messages alike; then
# no reader can tell them apart, and either is right. So the judge is the template, not a format
# of ours: a message read with other whitespace, or with other arguments that their schema allows,
# is right where the template writes it as the very text that was read.


class MessageAgreement(StrEnum):
    """How far a message that was read is the one that was meant."""

    EXACT = "exact"
    EDGES = "edges"
    """But for whitespace at the edges of the reasoning or the content."""
    OTHER = "other"


class ReadCall(Struct, frozen=True):
    """A call as a program gives it."""

    name: str
    arguments: str
    """JSON text, as servers give it; whether it is valid has yet to be seen."""

    @property
    def as_json(self) -> Json:
        """The call with its arguments as JSON; as the text that came where that is not JSON."""
        try:
            arguments: Json = json.loads(self.arguments)
        except ValueError:
            arguments = self.arguments
        return {"name": self.name, "arguments": arguments}


class ReadMessage(Struct, frozen=True):
    """A message as a program gives it. An empty text is an absent one."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ReadCall, ...] = ()

    @classmethod
    def of(cls, message: Message) -> ReadMessage:
        """Return what a program should give of a message."""
        calls = [ReadCall(call.name, json.dumps(dict(call.arguments))) for call in message.calls]
        return cls(message.content, message.reasoning, tuple(calls))


class ReadingVerdict(Struct, frozen=True):
    """How one message was read, and the first difference where it was read otherwise."""

    agreement: MessageAgreement
    part: str = ""
    """Which part of the message differs, in words."""
    expected: str = ""
    actual: str = ""

    @property
    def right(self) -> bool:
        """Whether nothing but whitespace at edges differs."""
        return self.agreement is not MessageAgreement.OTHER


class ReadingJudge(Struct, frozen=True):
    """Judges what was read of texts that a template wrote."""

    written_alike: Callable[[Message, Message], bool]
    """Whether the template writes the second message as it writes the first."""
    allowed: Callable[[ToolCall], bool]
    """Whether the schema of a call's tool allows its arguments."""

    def judge(self, expected: Message, read: ReadMessage) -> ReadingVerdict:
        """Compare what was read of the text of a message with the message."""
        found = next(self._differences(expected, read), None)
        if found is not None:
            return found
        as_read = replace(expected, content=read.content, reasoning=read.reasoning)
        if as_read == expected or self.written_alike(expected, as_read):
            return ReadingVerdict(MessageAgreement.EXACT)
        part = "reasoning" if as_read.reasoning != expected.reasoning else "content"
        texts = (str(getattr(each, part)) for each in (expected, as_read))
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
    """Whether two values are equal as JSON: 1 is 1.0, but not true; keys have no order."""
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
    """Return a call with the id and key order that were meant, or None if it is not JSON."""
    try:
        value: Json = json.loads(read_call.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    ordered = {key: value[key] for key in meant.arguments if key in value}
    return ToolCall(read_call.name, {**ordered, **value}, meant.id)


# Tools to offer: a template may look a call's name and arguments up in their schemas.


Tool: TypeAlias = dict[str, Json]


def function_of(tool: object) -> Any:
    """Return a tool's function, in OpenAI's wrapper or bare, or None if it is not an object."""
    function = tool.get("function", tool) if is_mapping(tool) else None
    return function if is_mapping(function) else None


def with_properties(tool: Tool, change: Callable[[str, Any], Json], **more: Json) -> Tool:
    """Return a function whose properties are changed, and what `more` says of its parameters."""
    parameters: Any = tool["parameters"]
    changed = {key: change(key, schema) for key, schema in parameters["properties"].items()}
    return {**tool, "parameters": {**parameters, "properties": changed, **more}}


def tool_for(name: str, description: str, properties: Mapping[str, str]) -> Tool:
    """Describe a function whose parameters are `properties`: JSON type by name.

    The inner function object is given; the wrapper around it is a matter of shape.
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
