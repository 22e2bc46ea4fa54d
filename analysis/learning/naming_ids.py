"""Learn the row of ids that carry names: made up by the template, or taken apart by it.

Learned only if a call is written with its id and without its name. For example,
`fixtures/novel/ids-made-up.jinja` writes an id and no name; to a call without an id it gives one,
and from the ids of two such calls `learn_id` reads the row, which counts from 1:

    ('tool/', NAME, '#', INDEX)

Other templates take an id apart for the header of a result; there, ids with the template's own
constants show which part of the id is the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json, Message, ToolResult
from autoparser.analysis.core.text_alignment import find_slots

from .call_numbers import INDEX_MARK, mark_numbers
from .observer import Observer
from .shape_negotiation import answered_conversation
from .suggestions import Suggestions


class SeenId(NamedTuple):
    """How an id carries a name."""

    row: Row = ()
    """The row of the id, e.g. `("functions.", NAME, ":", INDEX)`; empty if no render shows it."""
    base: int = 0
    """The number in the id of the first call, e.g. 0 in `functions.f:0`; 0 if ids are not
    numbered."""


def learn_id(observer: Observer, suggestions: Suggestions, *, several: bool) -> SeenId:
    """Learn how ids carry names; `several`: whether a message may have more than one call."""
    made = _learn_generated_ids(observer, 2 if several else 1)
    return SeenId(*made) if made is not None else SeenId(_learn_split_ids(observer, suggestions))


def _learn_generated_ids(observer: Observer, count: int) -> tuple[Row, int] | None:
    """Read the row of the ids that the template writes for calls without one."""
    marks = observer.prober.sentinels
    dialogue = answered_conversation(
        observer.prober, Message(calls=tuple(observer.call(at) for at in range(count)))
    )
    # The render with ids shows the places of ids; the render without them shows the template's own.
    given = observer.prober.probe(dialogue).text
    shaped = observer.prober.shape.messages(dialogue, marks.system)
    shown = observer.prober.text_of_messages([_without_ids(message) for message in shaped])
    around = re.split("|".join(map(re.escape, marks.ids[:count])), given)[: count + 1]
    pattern = "(.*?)".join(map(re.escape, around))
    found = re.match(pattern, shown, re.DOTALL) if len(around) > count else None
    if found is None:
        return None
    words = found.groups()
    one = mark_numbers(
        [text.replace(marks.names[at], marks.names[0]) for at, text in enumerate(words)]
    )
    if one is None or marks.names[0] not in one[0]:
        return None
    # The number of a single call cannot be distinguished from any other word.
    labels = {marks.names[0]: RowSlot.NAME, INDEX_MARK: RowSlot.INDEX}
    pieces = find_slots(one[0], labels)
    return _interleaved_row(pieces.literals, pieces.slots), max(one[1], 0)


def _interleaved_row(literals: Sequence[str], slots: Sequence[RowSlot]) -> Row:
    row: list[str | RowSlot] = [literals[0]]
    for slot, literal in zip(slots, literals[1:], strict=True):
        row += [slot, literal]
    return tuple(piece for piece in row if piece)


def _without_ids(message: dict[str, Json]) -> dict[str, Json]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    bare: list[Json] = [
        {key: value for key, value in call.items() if key != "id"}
        for call in calls
        if isinstance(call, dict)
    ]
    return {**message, "tool_calls": bare}


_MOST_SEPARATORS = 8
_LONGEST = 16
_IN_AN_ID = re.compile(r"""[^\s{}\[\]<>"']*[^\s{}\[\]<>"'\w][^\s{}\[\]<>"']*""")
"""Matches constants with a sign and without characters that ids never have."""


def _learn_split_ids(observer: Observer, suggestions: Suggestions) -> Row:
    """Try ids that contain the template's own constants, and find the part that shows alone.

    With `a.b:c` for the id, a template that writes `b` before the result takes it for the name.
    """
    signs = [
        text
        for text in suggestions.constants
        if len(text) <= _LONGEST and _IN_AN_ID.fullmatch(text)
    ][:_MOST_SEPARATORS]
    # Constants come in source order, which need not be their order in the id.
    orders = dict.fromkeys((tuple(signs), tuple(reversed(signs)))) if signs else ()
    rows = [row for order in orders for row in _shown_parts(observer, order)]
    # The longest row removes the most text from the id.
    return max(rows, key=len, default=())


def _shown_parts(observer: Observer, signs: Sequence[str]) -> Iterator[Row]:
    """Yield the row of an id with these signs between its words, if a part of it shows."""
    marks = observer.prober.sentinels
    words = [f"{marks.next_user}{chr(ord('a') + at)}" for at in range(len(signs) + 1)]
    whole = words[0] + "".join(sign + word for sign, word in zip(signs, words[1:], strict=True))
    call = replace(observer.call(), id=whole)
    dialogue = (observer.prober.user, Message(calls=(call,)), ToolResult(marks.answer, "", whole))
    shaped = observer.prober.shape.messages(dialogue, marks.system)
    # Without the result's own name, the template can only take it from the id.
    unnamed = [{key: value for key, value in message.items() if value != ""} for message in shaped]
    text = observer.prober.text_of_messages(unnamed).replace(whole, "")
    shown = [at for at, word in enumerate(words) if word in text]
    if not shown or len(shown) == len(words):
        return
    # `functions.NAME:0` shows the word in the middle; the signs around it belong to the row.
    first, last = shown[0], shown[-1]
    before: Row = (RowSlot.ID, signs[first - 1]) if first else ()
    after: Row = (signs[last], RowSlot.ID) if last < len(signs) else ()
    yield (*before, RowSlot.NAME, *after)
