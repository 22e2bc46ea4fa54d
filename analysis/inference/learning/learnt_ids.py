"""How ids carry names: put together where messages have none, or taken apart for a result's header.

Asked only where a call is written with its id and without its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.alignment import find_slots
from autoparser.analysis.core.conversation import Json, Message, ToolResult
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format import Row, Slot
from autoparser.analysis.inference.probing import Suggestions, answered

from .indices import INDEX_MARK, counted
from .observer import Observer


@dataclass(frozen=True, slots=True)
class SeenId:
    """How an id carries a name, as renders show it."""

    row: Row = ()
    """Empty: no render shows it."""
    base: int = 0
    """The number in the id of the first call, where the ids have one."""


def learn_id(observer: Observer, suggestions: Suggestions, *, several: bool) -> SeenId:
    """Learn how ids carry names; `several` says that a message may have more than one call."""
    made = _made_up(observer, 2 if several else 1)
    return SeenId(*made) if made is not None else SeenId(_taken_apart(observer, suggestions))


def _made_up(observer: Observer, count: int) -> tuple[Row, int] | None:
    """Read off what stands in the place of the ids of calls that have none."""
    marks = observer.prober.sentinels
    dialogue = answered(
        observer.prober, Message(calls=tuple(observer.call(at) for at in range(count)))
    )
    given = observer.prober.probe(dialogue).text
    shaped = observer.prober.shape.messages(dialogue, marks.system)
    shown = _rendered(observer, [_without_ids(message) for message in shaped])
    around = re.split("|".join(map(re.escape, marks.ids[:count])), given)[: count + 1]
    pattern = "(.*?)".join(map(re.escape, around))
    found = re.match(pattern, shown, re.DOTALL) if len(around) > count else None
    if found is None:
        return None
    words = found.groups()
    one = counted([text.replace(marks.names[at], marks.names[0]) for at, text in enumerate(words)])
    if one is None or marks.names[0] not in one[0]:
        return None
    # The number of an only call is one like any other word.
    labels = {marks.names[0]: Slot.NAME, INDEX_MARK: Slot.INDEX}
    pieces = find_slots(one[0], labels)
    return _row(pieces.literals, pieces.slots), max(one[1], 0)


def _row(literals: Sequence[str], slots: Sequence[Slot]) -> Row:
    row: list[str | Slot] = [literals[0]]
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


def _rendered(observer: Observer, messages: Sequence[dict[str, Json]]) -> str:
    try:
        return observer.prober.render_messages(messages)
    except TemplateRenderError:
        return ""


_MOST_SEPARATORS = 8
_LONGEST = 16
_IN_AN_ID = re.compile(r"""[^\s{}\[\]<>"']*[^\s{}\[\]<>"'\w][^\s{}\[\]<>"']*""")
"""A constant with a sign, and with nothing that an id never has."""


def _taken_apart(observer: Observer, suggestions: Suggestions) -> Row:
    """Give ids that hold the template's own constants, and see what part of one shows alone.

    With `a.b:c` for the id, a template that writes `b` before the result takes it for the name.
    """
    signs = [
        text
        for text in suggestions.constants
        if len(text) <= _LONGEST and _IN_AN_ID.fullmatch(text)
    ][:_MOST_SEPARATORS]
    orders = dict.fromkeys((tuple(signs), tuple(reversed(signs)))) if signs else ()
    rows = [row for order in orders for row in _shown_parts(observer, order)]
    # The more of an id is cut off, the more the render shows.
    return max(rows, key=len, default=())


def _shown_parts(observer: Observer, signs: Sequence[str]) -> Iterator[Row]:
    """Return the row of an id with these signs between its words, where a part of it shows."""
    marks = observer.prober.sentinels
    words = [f"{marks.next_user}{chr(ord('a') + at)}" for at in range(len(signs) + 1)]
    whole = words[0] + "".join(sign + word for sign, word in zip(signs, words[1:], strict=True))
    call = replace(observer.call(), id=whole)
    dialogue = (observer.prober.user, Message(calls=(call,)), ToolResult(marks.answer, "", whole))
    shaped = observer.prober.shape.messages(dialogue, marks.system)
    # Without the result's own name, a template has only the id to take it from.
    unnamed = [{key: value for key, value in each.items() if value != ""} for each in shaped]
    text = _rendered(observer, unnamed).replace(whole, "")
    shown = [at for at, word in enumerate(words) if word in text]
    if not shown or len(shown) == len(words):
        return
    first, last = shown[0], shown[-1]
    before: Row = (Slot.ID, signs[first - 1]) if first else ()
    after: Row = (signs[last], Slot.ID) if last < len(signs) else ()
    yield (*before, Slot.NAME, *after)
