"""Find words of a call that a field of the message replaces.

`commentary json<|message|>` with the field `kind` set may be `commentary yaml<|message|>`: then
`json` is only the template's default, and a model may write another word there.
`learn_free_words` finds such a stretch in the render of a call, and `place_stretches` locates it
in the row of the call once that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallFormat, FreeWord
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.text_alignment import replaced_range

from .observer import Observer
from .shape_negotiation import STANDARD_FIELDS, answered_conversation
from .suggestions import Suggestions

_MOST_ALONE = 4
"""At most this many fields that reach the text are tried one by one."""


class FreeStretch(NamedTuple):
    """A stretch of the render of one call that a field replaces."""

    text: str
    """The render of the call's conversation, e.g. `"…commentary json<|message|>…"`."""
    start: int
    """The offset of the replaced text, here of `json`."""
    end: int
    """The offset after it, e.g. 55."""


def learn_free_words(observer: Observer, suggestions: Suggestions) -> tuple[FreeStretch, ...]:
    """Set on a call every field that the template reads, and find the words they replace."""
    marks = observer.prober.sentinels
    fields = {
        field: f"{marks.next_user}{at}z" for at, field in enumerate(_unknown_fields(suggestions))
    }
    # Send all fields in one render: few templates read any of them.
    together = _render_with_fields(observer, fields)
    shown = [field for field, word in fields.items() if word in together][:_MOST_ALONE]
    found: list[FreeStretch] = []
    for field in shown:
        word = fields[field]
        # Several fields in one render change more than one stretch, so each is rendered alone.
        free = _replaced_stretch(observer, together, word) if len(shown) == 1 else None
        free = free or _replaced_stretch(
            observer, _render_with_fields(observer, {field: word}), word
        )
        if free is not None and free not in found:
            found.append(free)
    return tuple(found)


def place_stretches(
    calls: CallFormat, call: ToolCall, stretches: Sequence[FreeStretch]
) -> CallFormat:
    """Locate these stretches of a call's render in the row of the call."""
    words = {
        word for stretch in stretches if (word := _locate_stretch(calls, call, stretch)) is not None
    }
    return replace(calls, free_words=tuple(sorted(words))) if words else calls


def _unknown_fields(suggestions: Suggestions) -> list[str]:
    """Return the fields that no message has, without attributes of texts, lists and objects."""
    return [
        field
        for field in suggestions.fields
        if field.isidentifier()
        and field not in STANDARD_FIELDS
        and not any(hasattr(kind, field) for kind in (str, list, dict))
    ]


def _render_with_fields(observer: Observer, fields: Mapping[str, str]) -> str:
    """Render one call with these fields; return an empty text if the template raises."""
    if not fields:
        return ""
    dialogue = answered_conversation(observer.prober, Message(calls=(observer.call(),)))
    shaped = observer.prober.shape.messages(dialogue, observer.prober.sentinels.system)
    given = [
        {**message, "tool_calls": [_with_fields(call, fields) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list)
        else message
        for message in shaped
    ]
    return observer.prober.text_of_messages(given)


def _with_fields(call: Json, fields: Mapping[str, str]) -> Json:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    inner = {**fields, **function} if isinstance(function, dict) else function
    whole: dict[str, Json] = {**fields, **call}
    return whole if inner is None else {**whole, "function": inner}


def _replaced_stretch(observer: Observer, text: str, word: str) -> FreeStretch | None:
    """Return the stretch that a word replaced, if all other text is unchanged."""
    usual = observer.prober.probe(
        answered_conversation(observer.prober, Message(calls=(observer.call(),)))
    ).text
    place = replaced_range(usual, text, word)
    return None if place is None else FreeStretch(usual, *place)


def _locate_stretch(calls: CallFormat, call: ToolCall, stretch: FreeStretch) -> FreeWord | None:
    """Find the literal of a call's row that holds a stretch of the call's text."""
    begun = stretch.text.rfind(calls.write((call,)))
    if begun < 0:
        return None
    texts: Mapping[RowSlot, str] = {
        RowSlot.NAME: call.name,
        RowSlot.ID: call.id,
        RowSlot.INDEX: str(calls.index_base),
        RowSlot.ARGUMENTS: calls.arguments.write(call.arguments),
    }
    # From here on `at` is an offset in the call, then in each piece of its row.
    at, size = stretch.start - begun - len(calls.section_open), stretch.end - stretch.start
    for number, piece in enumerate(calls.row):
        text = texts.get(piece, "") if isinstance(piece, RowSlot) else piece
        if not isinstance(piece, RowSlot) and at >= 0 and at + size <= len(text):
            return FreeWord(number, at, at + size)
        at -= len(text)
    return None
