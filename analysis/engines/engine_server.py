"""Define the server that a probe asks, whichever engine it is, and compare its messages.

- `ProbedChat`, `KnownText`: a request, and an answer to it whose meaning is known.
- `EngineServer`: a server; its `TextRung`s are ways to have it read a text, most certain first.
- `client_message`, `joined_deltas`, `message_differences`: the message that a client gets, and its
  differences from the message that was meant.

The servers of vLLM, SGLang and llama.cpp are in `probed_engines`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from autoparser.analysis.core.conversation import Json, Message, ReadCall, ReadMessage, same_json
from autoparser.analysis.decoding.answer_writers import ServerEngine

from .chat_request import REASONING
from .probe_client import ProbeClient, ServerReply

# A chat, and an answer to it whose meaning is known.


@dataclass(frozen=True)
class ProbedChat:
    """The conversation that a request sends, in OpenAI's form."""

    messages: Sequence[Mapping[str, Json]]
    tools: Sequence[Json] = ()
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def body(self, model: str) -> dict[str, Json]:
        """Return the body of the request."""
        asked: dict[str, Json] = {"messages": [dict(each) for each in self.messages]}
        if model:
            asked["model"] = model
        if self.tools:
            asked["tools"] = list(self.tools)
        if self.settings:
            asked["chat_template_kwargs"] = dict(self.settings)
        return asked

    @property
    def key(self) -> str:
        """The identity of the chat: its request as JSON, in which the order of keys counts."""
        return json.dumps(self.body(""))


@dataclass(frozen=True, slots=True)
class KnownText:
    """An answer and its meaning."""

    title: str
    message: Message
    text: str
    """The text that the template writes after its prompt, up to the end of the turn."""
    other: Message | None = None
    """Other meanings: the template writes the same text for them, and the schemas allow them."""

    @property
    def meanings(self) -> tuple[Message, ...]:
        """All messages that a reader may give."""
        return (self.message,) if self.other is None else (self.message, self.other)


class TextRefusedError(Exception):
    """The server refuses to read one text; the message is the reason."""


class TextNotAskedError(Exception):
    """A text cannot reach the server's parser unchanged; the message is the reason."""


class TextRoute(StrEnum):
    """How a text came before the server's parser."""

    GIVEN = "given"
    """The server is handed the text, and nothing is generated."""
    FORCED = "forced"
    """The model is made to write the text."""
    SAMPLED = "sampled"
    """The model writes what it likes; what it wrote is asked for beside."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A server's description of itself; None for what it does not state."""

    engine: ServerEngine
    model: str = ""
    version: str | None = None
    template: str | None = None
    """The text of its template."""
    template_place: str | None = None
    """The directory, file or model from which its template is loaded."""
    special_tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """The special tokens that it renders its template with."""
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    parsers_told: bool = False
    """Whether it states the parsers it was started with; None then means no parser."""
    notes: tuple[str, ...] = ()


class TextRung(ABC):
    """A way to have a server read texts."""

    rung: ClassVar[TextRoute]
    blind: ClassVar[tuple[str, ...]]
    """The differences that it cannot see, in words."""
    sees_reasoning: ClassVar[bool] = True
    """Whether the server returns the reasoning."""
    streams: ClassVar[bool] = False
    """Whether it can read a text as a stream."""

    @abstractmethod
    def read(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Return the server's reading of an answer.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """

    def read_stream(self, chat: ProbedChat, known_text: KnownText) -> ReadMessage:
        """Return the message that a client joins from its stream. Raises as `read` does."""
        raise NotImplementedError


CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class EngineServer(ABC):
    """A server of one engine, with OpenAI's chat endpoint."""

    client: ProbeClient
    served: ServedModel
    """The server's description of itself."""

    @abstractmethod
    def prompt(self, chat: ProbedChat) -> str:
        """Return the prompt that it renders for a chat. Raises TextRefusedError, ProbeError."""

    @abstractmethod
    def sample_chat(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the greedy output of its model and the server's reading of it.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """

    @abstractmethod
    def rungs(self) -> Sequence[TextRung]:
        """Return its ways to have texts read, the most certain first."""

    def body(self, chat: ProbedChat) -> dict[str, Json]:
        """Return the body of a request to its model."""
        return chat.body(self.served.model)

    def greedy_body(self, chat: ProbedChat, limit: int) -> dict[str, Json]:
        """Return the body of a request with greedy sampling."""
        return {**self.body(chat), "temperature": 0, "max_tokens": limit}

    def greedy_events(
        self, chat: ProbedChat, limit: int
    ) -> Sequence[Mapping[str, Json]] | ServerReply:
        """Return the events of a greedy request as a stream, or the refusal. Raises ProbeError."""
        return self.client.events(CHAT, self.greedy_body(chat, limit))


# The message that a client gets, and its differences from the message that was meant.


def client_message(value: Json) -> ReadMessage:
    """Read a message of a chat completion."""
    return joined_deltas([_object(value)])


def joined_deltas(deltas: Sequence[Mapping[str, Json]]) -> ReadMessage:
    """Join the deltas of a stream as a client does; calls by their index."""
    reasoning = content = ""
    calls: dict[int, ReadCall] = {}
    for delta in deltas:
        content += text_of(delta.get("content"))
        # Some servers send both fields, for clients that know only one of them.
        reasoning += next(filter(None, (text_of(delta.get(key)) for key in REASONING)), "")
        parts = delta.get("tool_calls")
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            call, index = _object(part), _object(part).get("index")
            place = index if isinstance(index, int) else at
            before = calls.get(place, ReadCall("", ""))
            function = _object(call.get("function"))
            calls[place] = ReadCall(
                before.name + text_of(function.get("name")),
                before.arguments + text_of(function.get("arguments")),
            )
    return ReadMessage(content, reasoning, tuple(calls[each] for each in sorted(calls)))


class ReadPart(StrEnum):
    """What of a message is compared."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


class PartLikeness(StrEnum):
    """How far a part is what was meant."""

    EDGES = "edges"
    """The same but for whitespace at its edges."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part of a message that is otherwise."""

    part: ReadPart
    likeness: PartLikeness
    meant: Json
    """The text, or the calls with their arguments."""
    came: Json
    """The text, or the calls with their arguments."""


def nearest_reading(
    meanings: Sequence[Message], reading: ReadMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all meanings of a text; return the differences from the nearest one."""
    every = [
        tuple(
            each for each in message_differences(ReadMessage.of(one), reading) if each.part in parts
        )
        for one in meanings
    ]
    return min(every, key=len)


def message_differences(meant: ReadMessage, reading: ReadMessage) -> tuple[PartDifference, ...]:
    """Compare texts exactly, and up to whitespace at their edges; calls as JSON."""
    return tuple(_differences(meant, reading))


def _differences(meant: ReadMessage, reading: ReadMessage) -> Iterator[PartDifference]:
    for part in (ReadPart.REASONING, ReadPart.CONTENT):
        wanted: str = getattr(meant, part)
        found: str = getattr(reading, part)
        if wanted != found:
            alike = wanted.strip() == found.strip()
            likeness = PartLikeness.EDGES if alike else PartLikeness.DIFFERENT
            yield PartDifference(part, likeness, wanted, found)
    wanted_calls: list[Json] = [each.as_json for each in meant.calls]
    found_calls: list[Json] = [each.as_json for each in reading.calls]
    if not same_json(wanted_calls, found_calls):
        yield PartDifference(ReadPart.CALLS, PartLikeness.DIFFERENT, wanted_calls, found_calls)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def text_of(value: Json) -> str:
    """Return a text, or an empty one if the value is not one."""
    return value if isinstance(value, str) else ""


# Chat completions as servers give them, whole and streamed.


def choice_of(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the first choice, or an empty one if there is none."""
    match value.get("choices"):
        case [dict() as first, *_]:
            return first
        case _:
            return {}


def message_of(reply: ServerReply) -> ReadMessage:
    """Return the message of a completion. Raises TextRefusedError if it is not one."""
    message = choice_of(reply.object).get("message") if reply.ok else None
    if not isinstance(message, dict):
        raise TextRefusedError(reply.refusal)
    return client_message(message)


def message_of_events(events: Sequence[Mapping[str, Json]] | ServerReply) -> ReadMessage:
    """Return the message that a client joins from a stream. Raises TextRefusedError if refused."""
    if isinstance(events, ServerReply):
        raise TextRefusedError(events.refusal)
    for event in events:
        if "error" in event:
            raise TextRefusedError(f"in the middle of the stream: {event['error']}")
    return joined_deltas([_object(choice_of(event).get("delta")) for event in events])
