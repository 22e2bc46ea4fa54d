"""A message as a client of a chat endpoint has it, and what of it is otherwise than was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Json, Message, ReadCall, ReadMessage, same_json

__all__ = [
    "Likeness",
    "PartDifference",
    "ReadPart",
    "client_message",
    "differences",
    "joined_deltas",
    "nearest",
]

REASONING = ("reasoning_content", "reasoning")
"""The fields in which servers give it."""


def client_message(value: Json) -> ReadMessage:
    """Read a message of a chat completion."""
    return joined_deltas([_object(value)])


def joined_deltas(deltas: Sequence[Mapping[str, Json]]) -> ReadMessage:
    """Put the deltas of a stream together, as a client does; calls by their index."""
    reasoning = content = ""
    calls: dict[int, ReadCall] = {}
    for delta in deltas:
        content += _text(delta.get("content"))
        # Some give both, for clients that know one of them.
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
    meanings: Sequence[Message], came: ReadMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all that a text may mean, and give what differs from the most like of them."""
    every = [
        tuple(each for each in differences(ReadMessage.of(one), came) if each.part in parts)
        for one in meanings
    ]
    return min(every, key=len)


def differences(meant: ReadMessage, came: ReadMessage) -> tuple[PartDifference, ...]:
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
