"""Define the server that a probe asks, whichever engine it is, and compare its messages.

- `ProbedChat`, `KnownText`: a request, and an answer to it whose meaning is known.
- `EngineServer`: a server; its `TextRung`s are ways to have it read a text, most certain first.
- `client_message`, `joined_deltas`, `message_differences`: the message that a client gets, and its
  differences from the message that was meant.
- `ChatServer`, `TokenServer`: the parts that the servers of several engines share.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from autoparser.analysis.core.conversation import Json, Message, ReadCall, ReadMessage, same_json
from autoparser.analysis.decoding.answer_writers import ServerEngine

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


class TextRung(Protocol):
    """A way to have a server read texts."""

    @property
    def rung(self) -> TextRoute:
        """How it does."""
        ...

    @property
    def blind(self) -> tuple[str, ...]:
        """The differences that it cannot see, in words."""
        ...

    @property
    def sees_reasoning(self) -> bool:
        """Whether the server returns the reasoning."""
        ...

    @property
    def streams(self) -> bool:
        """Whether it can read a text as a stream."""
        ...

    def read(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Return the server's reading of an answer.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """
        ...

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Return the message that a client joins from its stream. Raises as `read` does."""
        ...


class EngineServer(Protocol):
    """A server of one engine."""

    @property
    def served(self) -> ServedModel:
        """The server's description of itself."""
        ...

    def prompt(self, chat: ProbedChat) -> str:
        """Return the prompt that it renders for a chat. Raises TextRefusedError, ProbeError."""
        ...

    def sampled(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the greedy output of its model and the server's reading of it.

        Raises TextRefusedError, TextNotAskedError, ProbeError.
        """
        ...

    def greedy_events(
        self, chat: ProbedChat, limit: int
    ) -> Sequence[Mapping[str, Json]] | ServerReply:
        """Return the events of the same request as a stream, or the refusal. Raises ProbeError."""
        ...

    def rungs(self) -> Sequence[TextRung]:
        """Return its ways to have texts read, the most certain first."""
        ...


# The message that a client gets, and its differences from the message that was meant.


REASONING = ("reasoning_content", "reasoning")
"""The fields in which servers return reasoning."""


def client_message(value: Json) -> ReadMessage:
    """Read a message of a chat completion."""
    return joined_deltas([_object(value)])


def joined_deltas(deltas: Sequence[Mapping[str, Json]]) -> ReadMessage:
    """Join the deltas of a stream as a client does; calls by their index."""
    reasoning = content = ""
    calls: dict[int, ReadCall] = {}
    for delta in deltas:
        content += _text(delta.get("content"))
        # Some servers send both fields, for clients that know only one of them.
        reasoning += next(filter(None, (_text(delta.get(key)) for key in REASONING)), "")
        for at, part in enumerate(_list(delta.get("tool_calls"))):
            call, index = _object(part), _object(part).get("index")
            place = index if isinstance(index, int) else at
            before = calls.get(place, ReadCall("", ""))
            function = _object(call.get("function"))
            calls[place] = ReadCall(
                before.name + _text(function.get("name")),
                before.arguments + _text(function.get("arguments")),
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
    meanings: Sequence[Message], came: ReadMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all meanings of a text; return the differences from the nearest one."""
    every = [
        tuple(each for each in message_differences(ReadMessage.of(one), came) if each.part in parts)
        for one in meanings
    ]
    return min(every, key=len)


def message_differences(meant: ReadMessage, came: ReadMessage) -> tuple[PartDifference, ...]:
    """Compare texts exactly, and up to whitespace at their edges; calls as JSON."""
    return tuple(_differences(meant, came))


def _differences(meant: ReadMessage, came: ReadMessage) -> Iterator[PartDifference]:
    texts = (
        (ReadPart.REASONING, meant.reasoning, came.reasoning),
        (ReadPart.CONTENT, meant.content, came.content),
    )
    for part, wanted, found in texts:
        if wanted != found:
            alike = wanted.strip() == found.strip()
            yield PartDifference(
                part, PartLikeness.EDGES if alike else PartLikeness.DIFFERENT, wanted, found
            )
    wanted_calls: list[Json] = [each.told for each in meant.calls]
    found_calls: list[Json] = [each.told for each in came.calls]
    if not same_json(wanted_calls, found_calls):
        yield PartDifference(ReadPart.CALLS, PartLikeness.DIFFERENT, wanted_calls, found_calls)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
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
    deltas = [choice_of(event).get("delta") for event in events]
    return joined_deltas([each for each in deltas if isinstance(each, dict)])


def greedy_request(body: Mapping[str, Json], limit: int) -> dict[str, Json]:
    """Return a request with greedy sampling."""
    return {**body, "temperature": 0, "max_tokens": limit}


def ended_choice(choice: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the choice. Raises TextNotAskedError if the token limit cut it."""
    if choice.get("finish_reason") == "length":
        raise TextNotAskedError("its model did not come to an end")
    return choice


def token_ids_of(value: Json) -> list[int] | None:
    """Return a list of token ids, or None if the value is not one."""
    if not isinstance(value, list):
        return None
    found = [each for each in value if isinstance(each, int)]
    return found if len(found) == len(value) else None


# Servers of chats, and those among them that return token ids.


CHAT = "/v1/chat/completions"
SPARE = 64
"""A model may write as many tokens as a text has bytes, and this many more."""


@dataclass(frozen=True)
class ChatServer:
    """A server with OpenAI's chat endpoint."""

    client: ProbeClient
    served: ServedModel

    @property
    def model(self) -> str:
        """The name of the model in requests."""
        return self.served.model

    def greedy_events(
        self, chat: ProbedChat, limit: int
    ) -> Sequence[Mapping[str, Json]] | ServerReply:
        """Return the events of the same request as a stream, or the refusal."""
        return self.client.events(CHAT, greedy_request(chat.body(self.model), limit))


@dataclass(frozen=True)
class TokenServer(ChatServer, ABC):
    """A server that returns the token ids of a prompt and of an answer, and their text."""

    ids_field: ClassVar[str]
    """The field of a choice that has the ids of the answer."""

    @abstractmethod
    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids. Raises TextRefusedError."""

    def prompt(self, chat: ProbedChat) -> str:
        """Return the text of the ids that `/tokenize` returns."""
        return self.text(self.prompt_ids(chat))

    def prompt_ids(self, chat: ProbedChat) -> list[int]:
        """Return the ids of the prompt. Raises TextRefusedError."""
        reply = self.client.post("/tokenize", chat.body(self.model))
        found = token_ids_of(reply.object.get("tokens"))
        if found is None:
            raise TextRefusedError(reply.refusal)
        return found

    def sampled(self, chat: ProbedChat, limit: int) -> tuple[str, ReadMessage]:
        """Return the text of the ids of its answer, and its reading."""
        body: dict[str, Json] = {
            **greedy_request(chat.body(self.model), limit),
            "return_token_ids": True,
        }
        reply = self.client.post(CHAT, body)
        message = message_of(reply)
        written = token_ids_of(ended_choice(choice_of(reply.object)).get(self.ids_field))
        if written is None:
            raise TextNotAskedError("it does not say which ids it wrote")
        return self.text(written), message


class UnstreamedRung:
    """A way that cannot stream: the first text of `blind` is the reason."""

    blind: ClassVar[tuple[str, ...]]
    streams = False

    def streamed(self, chat: ProbedChat, known: KnownText) -> ReadMessage:
        """Raise TextRefusedError."""
        del chat, known
        raise TextRefusedError(self.blind[0])
