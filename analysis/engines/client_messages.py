"""The message that a client gets from an engine's answer, and its differences from the meaning.

For example, a client joins the deltas of a call, whose name comes only once:

    >>> one = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]}
    >>> other = {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}
    >>> reading = joined_deltas([one, other])
    >>> reading.calls
    (ReadCall(name='f', arguments='{}'),)
    >>> [difference.part.value for difference in message_differences(ReadMessage("Hi"), reading)]
    ['content', 'calls']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage, same_json
from autoparser.analysis.history.openai_messages import REASONING

from .probe_client import ServerReply, TextRefusedError


def client_message(value: Json) -> ReadMessage:
    """Read a message of a chat completion."""
    return joined_deltas([_object(value)])


def joined_deltas(deltas: Sequence[Mapping[str, Json]]) -> ReadMessage:
    """Join the deltas of a stream as a client does; calls by their index."""
    reasoning = content = ""
    calls: dict[int, ReadCall] = {}
    for delta in deltas:
        content += text_or_empty(delta.get("content"))
        # Some servers send both fields, for clients that know only one of them.
        reasoning += next(filter(None, (text_or_empty(delta.get(key)) for key in REASONING)), "")
        parts = delta.get("tool_calls")
        for at, part in enumerate(parts if isinstance(parts, list) else ()):
            call, index = _object(part), _object(part).get("index")
            # Calls of a whole message have no index: they are numbered by their order.
            place = index if isinstance(index, int) else at
            before = calls.get(place, ReadCall("", ""))
            function = _object(call.get("function"))
            calls[place] = ReadCall(
                before.name + text_or_empty(function.get("name")),
                before.arguments + text_or_empty(function.get("arguments")),
            )
    return ReadMessage(content, reasoning, tuple(calls[place] for place in sorted(calls)))


class ReadPart(StrEnum):
    """The parts of a message that are compared."""

    REASONING = "reasoning"
    """The reasoning, as text."""
    CONTENT = "content"
    """The content, as text."""
    CALLS = "calls"
    """Names and arguments of the calls, as JSON."""


class PartLikeness(StrEnum):
    """How much a part differs from the meaning."""

    EDGES = "edges"
    """Equal except for whitespace at its edges."""
    DIFFERENT = "different"
    """Another text, or other calls."""


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part of a message that differs from its meaning."""

    part: ReadPart
    """The part that differs, e.g. `"content"`."""
    likeness: PartLikeness
    """How much it differs, e.g. `"edges"`."""
    meant: Json
    """The text, or the calls with their arguments, as they are meant, e.g. `"Here it is."`."""
    came: Json
    r"""The same as the server has read it, e.g. `"\n\nHere it is."`."""


def nearest_reading(
    meanings: Sequence[Message], reading: ReadMessage, parts: Collection[ReadPart]
) -> tuple[PartDifference, ...]:
    """Compare with all meanings of a text; return the differences from the nearest one."""
    every = [
        tuple(
            difference
            for difference in message_differences(ReadMessage.of(meaning), reading)
            if difference.part in parts
        )
        for meaning in meanings
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
            # Whitespace at the edges hardly matters to a reader, so it is a verdict of its own.
            alike = wanted.strip() == found.strip()
            likeness = PartLikeness.EDGES if alike else PartLikeness.DIFFERENT
            yield PartDifference(part, likeness, wanted, found)
    wanted_calls: list[Json] = [call.as_json for call in meant.calls]
    found_calls: list[Json] = [call.as_json for call in reading.calls]
    # As JSON: the spacing and the order of keys are the server's choice.
    if not same_json(wanted_calls, found_calls):
        yield PartDifference(ReadPart.CALLS, PartLikeness.DIFFERENT, wanted_calls, found_calls)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def text_or_empty(value: Json) -> str:
    """Return a text, or an empty one if the value is not one."""
    return value if isinstance(value, str) else ""


def first_choice(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the first choice, or an empty one without choices."""
    match value.get("choices"):
        case [dict() as first, *_]:
            return first
        case _:
            return {}


def completion_message(reply: ServerReply) -> ReadMessage:
    """Return the message of a completion. Raises TextRefusedError if it is not one."""
    message = first_choice(reply.object).get("message") if reply.ok else None
    if not isinstance(message, dict):
        raise TextRefusedError(reply.refusal)
    return client_message(message)


def streamed_message(events: Sequence[Mapping[str, Json]] | ServerReply) -> ReadMessage:
    """Return the message that a client joins from a stream. Raises TextRefusedError if refused."""
    if isinstance(events, ServerReply):
        raise TextRefusedError(events.refusal)
    for event in events:
        # The status was sent before, so a late error comes as an event.
        if "error" in event:
            raise TextRefusedError(f"in the middle of the stream: {event['error']}")
    return joined_deltas([_object(first_choice(event).get("delta")) for event in events])
