"""Words of a call that the template takes from a field, where a message has it.

`commentary json<|message|>` with the field `kind` given may be `commentary yaml<|message|>`: then
`json` is only what the template writes by default, and a model may write another word there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoparser.analysis.conversation import Json, Message
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.format import CallFormat, FreeWord, Slot
from autoparser.analysis.probing import STANDARD_FIELDS, Suggestions, answered

from .observer import Observer

_MOST_ALONE = 4
"""So many fields that show are tried each by itself."""


def learn_free_words(
    observer: Observer, calls: CallFormat, suggestions: Suggestions
) -> tuple[FreeWord, ...]:
    """Give a call every field that the template reads, and see which words they replace."""
    marks = observer.prober.sentinels
    fields = {field: f"{marks.next_user}{at}z" for at, field in enumerate(_fields(suggestions))}
    together = _rendered(observer, fields)
    shown = [field for field, word in fields.items() if word in together][:_MOST_ALONE]
    found: list[FreeWord] = []
    for field in shown:
        word = fields[field]
        text = together if len(shown) == 1 else ""
        free = _replaced(observer, calls, text, word)
        if free is None:
            free = _replaced(observer, calls, _rendered(observer, {field: word}), word)
        if free is not None and free not in found:
            found.append(free)
    return tuple(sorted(found))


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


def _replaced(observer: Observer, calls: CallFormat, text: str, word: str) -> FreeWord | None:
    """Say which word of the call gave way, all else of the text being as it is without."""
    call = observer.call()
    usual = observer.prober.probe(answered(observer.prober, Message(calls=(call,)))).text
    if text.count(word) != 1:
        return None
    before, _, after = text.partition(word)
    size = len(usual) - len(before) - len(after)
    if size <= 0 or not usual.startswith(before) or not usual.endswith(after):
        return None
    written = calls.write((call,))
    start = usual.rfind(written)
    at = len(before) - start - len(calls.section_open)
    return None if start < 0 else _placed(calls, call.arguments, (call.name, call.id), at, size)


def _placed(
    calls: CallFormat, arguments: Mapping[str, Json], words: Sequence[str], at: int, size: int
) -> FreeWord | None:
    """Find the literal of a call's row that holds a stretch of the call's text."""
    texts: Mapping[Slot, str] = {
        Slot.NAME: words[0],
        Slot.ID: words[1],
        Slot.INDEX: str(calls.index_base),
        Slot.ARGUMENTS: calls.arguments.write(arguments),
    }
    for number, piece in enumerate(calls.row):
        text = texts.get(piece, "") if isinstance(piece, Slot) else piece
        if not isinstance(piece, Slot) and at >= 0 and at + size <= len(text):
            return FreeWord(number, at, at + size)
        at -= len(text)
    return None
