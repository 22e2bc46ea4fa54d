"""A message as a client of a chat endpoint has it, and what of it is otherwise than was meant."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Json, Message, same_json

__all__ = [
    "ClientCall",
    "ClientMessage",
    "Likeness",
    "PartDifference",
    "ReadPart",
    "differences",
    "nearest",
]

REASONING = ("reasoning_content", "reasoning")
"""The fields in which servers give it."""


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One call; its arguments are the text that came."""

    name: str
    arguments: str

    @property
    def told(self) -> Json:
        """The call with its arguments as JSON; as the text that came where that is not JSON."""
        try:
            arguments: Json = json.loads(self.arguments)
        except ValueError:
            arguments = self.arguments
        return {"name": self.name, "arguments": arguments}


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """What a client has at the end; an empty text is an absent one."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[ClientCall, ...] = ()

    @classmethod
    def of(cls, message: Message) -> ClientMessage:
        """Return what a client should have of a message."""
        calls = [ClientCall(each.name, json.dumps(dict(each.arguments))) for each in message.calls]
        return cls(message.reasoning, message.content, tuple(calls))

    @classmethod
    def read(cls, value: Json) -> ClientMessage:
        """Read a message of a chat completion."""
        return cls.joined([_object(value)])

    @classmethod
    def joined(cls, deltas: Sequence[Mapping[str, Json]]) -> ClientMessage:
        """Put the deltas of a stream together, as a client does; calls by their index."""
        reasoning = content = ""
        calls: dict[int, ClientCall] = {}
        for delta in deltas:
            content += _text(delta.get("content"))
            # Some give both, for clients that know one of them.
            reasoning += next(filter(None, (_text(delta.get(key)) for key in REASONING)), "")
            for at, part in enumerate(_list(delta.get("tool_calls"))):
                call, index = _object(part), _object(part).get("index")
                place = index if isinstance(index, int) else at
                before = calls.get(place, ClientCall("", ""))
                function = _object(call.get("function"))
                calls[place] = ClientCall(
                    before.name + _text(function.get("name")),
                    before.arguments + _text(function.get("arguments")),
                )
        return cls(reasoning, content, tuple(calls[each] for each in sorted(calls)))

    def to_dict(self) -> dict[str, Json]:
        """Return the parts that are there."""
        told: dict[str, Json] = {}
        if self.reasoning:
            told["reasoning"] = self.reasoning
        if self.content:
            told["content"] = self.content
        if self.calls:
            told["calls"] = [each.told for each in self.calls]
        return told


class ReadPart(StrEnum):
    """What of a message is compared."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


class Likeness(StrEnum):
    """How far a part is what was meant."""

    EDGES = "edges"
    """The same but for whitespace at its edges."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part of a message that is otherwise."""

    part: ReadPart
    likeness: Likeness
    meant: Json
    came: Json


def nearest(
    meanings: Sequence[Message], came: ClientMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all that a text may mean, and give what differs from the most like of them."""
    every = [
        tuple(each for each in differences(ClientMessage.of(one), came) if each.part in parts)
        for one in meanings
    ]
    return min(every, key=len)


def differences(meant: ClientMessage, came: ClientMessage) -> tuple[PartDifference, ...]:
    """Compare texts exactly, and up to whitespace at their edges; calls as JSON."""
    return tuple(_differences(meant, came))


def _differences(meant: ClientMessage, came: ClientMessage) -> Iterator[PartDifference]:
    texts = (
        (ReadPart.REASONING, meant.reasoning, came.reasoning),
        (ReadPart.CONTENT, meant.content, came.content),
    )
    for part, wanted, found in texts:
        if wanted != found:
            alike = wanted.strip() == found.strip()
            yield PartDifference(
                part, Likeness.EDGES if alike else Likeness.DIFFERENT, wanted, found
            )
    wanted_calls: list[Json] = [each.told for each in meant.calls]
    found_calls: list[Json] = [each.told for each in came.calls]
    if not same_json(wanted_calls, found_calls):
        yield PartDifference(ReadPart.CALLS, Likeness.DIFFERENT, wanted_calls, found_calls)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
