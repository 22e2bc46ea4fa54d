"""Chat completions as servers give them, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoparser.analysis.core.conversation import Json, ReadMessage

from .client_message import client_message, joined_deltas
from .engine_server import TextNotAskedError, TextRefusedError
from .probe_client import ServerReply

__all__ = ["choice_of", "ended", "greedy", "message_of", "message_of_events", "numbers"]


def choice_of(value: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the first choice; an empty one where there is none."""
    match value.get("choices"):
        case [dict() as first, *_]:
            return first
        case _:
            return {}


def message_of(reply: ServerReply) -> ReadMessage:
    """Return the message of a completion. Raises TextRefusedError where it is none."""
    message = choice_of(reply.object).get("message") if reply.ok else None
    if not isinstance(message, dict):
        raise TextRefusedError(reply.refusal)
    return client_message(message)


def message_of_events(events: Sequence[Mapping[str, Json]] | ServerReply) -> ReadMessage:
    """Return what a client puts together of a stream. Raises TextRefusedError for a refusal."""
    if isinstance(events, ServerReply):
        raise TextRefusedError(events.refusal)
    for event in events:
        if "error" in event:
            raise TextRefusedError(f"in the middle of the stream: {event['error']}")
    deltas = [choice_of(event).get("delta") for event in events]
    return joined_deltas([each for each in deltas if isinstance(each, dict)])


def greedy(body: Mapping[str, Json], limit: int) -> dict[str, Json]:
    """Return a request that takes the likeliest token each time."""
    return {**body, "temperature": 0, "max_tokens": limit}


def ended(choice: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the choice. Raises TextNotAskedError where the limit cut it, so that it means less."""
    if choice.get("finish_reason") == "length":
        raise TextNotAskedError("its model did not come to an end")
    return choice


def numbers(value: Json) -> list[int] | None:
    """Return token ids; None where it is not a list of such."""
    if not isinstance(value, list):
        return None
    found = [each for each in value if isinstance(each, int)]
    return found if len(found) == len(value) else None
