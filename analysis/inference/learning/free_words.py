"""Words of a call that the template takes from a field, where a message has it.

`commentary json<|message|>` with the field `kind` given may be `commentary yaml<|message|>`: then
`json` is only what the template writes by default, and a model may write another word there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format import CallFormat, FreeWord, Slot
from autoparser.analysis.inference.probing import STANDARD_FIELDS, Suggestions, answered

from .observer import Observer

_MOST_ALONE = 4
"""So many fields that show are tried each by itself."""


@dataclass(frozen=True, slots=True)
class FreeStretch:
    """A stretch of the render of one call in whose place a field shows."""

    text: str
    """The render."""
    start: int
    end: int


def learn_free_words(observer: Observer, suggestions: Suggestions) -> tuple[FreeStretch, ...]:
    """Give a call every field that the template reads, and see which words they replace."""
    marks = observer.prober.sentinels
    fields = {field: f"{marks.next_user}{at}z" for at, field in enumerate(_fields(suggestions))}
    together = _rendered(observer, fields)
    shown = [field for field, word in fields.items() if word in together][:_MOST_ALONE]
    found: list[FreeStretch] = []
    for field in shown:
        word = fields[field]
        free = _replaced(observer, together, word) if len(shown) == 1 else None
        free = free or _replaced(observer, _rendered(observer, {field: word}), word)
        if free is not None and free not in found:
            found.append(free)
    return tuple(found)


def placed(calls: CallFormat, call: ToolCall, found: Sequence[FreeStretch]) -> CallFormat:
    """Say where in the row of one call these stretches of its render are."""
    words = {word for each in found if (word := _placed(calls, call, each)) is not None}
    return replace(calls, free_words=tuple(sorted(words))) if words else calls


def _fields(suggestions: Suggestions) -> list[str]:
    """Name the fields that no message has; what every text, list or object has is none."""
    return [
        field
        for field in suggestions.fields
        if field.isidentifier()
        and field not in STANDARD_FIELDS
        and not any(hasattr(kind, field) for kind in (str, list, dict))
    ]


def _rendered(observer: Observer, fields: Mapping[str, str]) -> str:
    """Render one call that has these fields; empty where the template raises."""
    if not fields:
        return ""
    dialogue = answered(observer.prober, Message(calls=(observer.call(),)))
    shaped = observer.prober.shape.messages(dialogue, observer.prober.sentinels.system)
    given = [
        {**message, "tool_calls": [_with_fields(call, fields) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list)
        else message
        for message in shaped
    ]
    try:
        return observer.prober.render_messages(given)
    except TemplateRenderError:
        return ""


def _with_fields(call: Json, fields: Mapping[str, str]) -> Json:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    inner = {**fields, **function} if isinstance(function, dict) else function
    whole: dict[str, Json] = {**fields, **call}
    return whole if inner is None else {**whole, "function": inner}


def _replaced(observer: Observer, text: str, word: str) -> FreeStretch | None:
    """Say what gave way to a word, all else of the text being as it is without."""
    usual = observer.prober.probe(answered(observer.prober, Message(calls=(observer.call(),)))).text
    if text.count(word) != 1:
        return None
    before, _, after = text.partition(word)
    end = len(usual) - len(after)
    if end <= len(before) or not usual.startswith(before) or not usual.endswith(after):
        return None
    return FreeStretch(usual, len(before), end)


def _placed(calls: CallFormat, call: ToolCall, found: FreeStretch) -> FreeWord | None:
    """Find the literal of a call's row that holds a stretch of the call's text."""
    begun = found.text.rfind(calls.write((call,)))
    if begun < 0:
        return None
    texts: Mapping[Slot, str] = {
        Slot.NAME: call.name,
        Slot.ID: call.id,
        Slot.INDEX: str(calls.index_base),
        Slot.ARGUMENTS: calls.arguments.write(call.arguments),
    }
    at, size = found.start - begun - len(calls.section_open), found.end - found.start
    for number, piece in enumerate(calls.row):
        text = texts.get(piece, "") if isinstance(piece, Slot) else piece
        if not isinstance(piece, Slot) and at >= 0 and at + size <= len(text):
            return FreeWord(number, at, at + size)
        at -= len(text)
    return None
