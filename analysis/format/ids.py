"""Ids of calls, where nothing but its id says which function a call is of."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.conversation import Message

from .call import CallFormat
from .notation import Slot


def named_by_id(calls: CallFormat | None) -> bool:
    """Whether a call is written with its id and without its name."""
    return calls is not None and calls.has(Slot.ID) and not calls.has(Slot.NAME)


def with_naming_ids(calls: CallFormat | None, message: Message) -> Message:
    """Return the message with ids that carry the name, where nothing else of a call does.

    Models of such templates number the calls of a turn: `functions.get_weather:0`.
    """
    if not named_by_id(calls):
        return message
    named = (
        replace(call, id=f"functions.{call.name}:{at}") for at, call in enumerate(message.calls)
    )
    return replace(message, calls=tuple(named))
