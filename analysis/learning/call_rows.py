"""Build and match rows: literals with slots for names, ids, keys and values.

The parts: rows of ids that carry names (`learn_id`), operations on rows (`cut_at`, `match_row`,
`read_entry`), slots found by comparing two renders (`learn_slot`), and the row of a whole call
(`assemble_call`). For example two renders of calls with different names

    <call name="qkphffqx">{…}</call>
    <call name="frnctwxr">{…}</call>

show one slot for the name, and with the arguments' text the row of a call is

    ('<call name="', NAME, '">', ARGUMENTS, '</call>')

`fixtures/novel/ids-made-up.jinja` writes an id and no name; to a call without an id it gives one,
and from the ids of two such calls `learn_id` reads the row, which counts from 1:

    ('tool/', NAME, '#', INDEX)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json, Message, ToolResult
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.text_alignment import common_prefix, common_suffix, find_slots

from .call_frame import CallsFrame
from .call_numbers import INDEX_MARK, mark_numbers
from .observer import Observer
from .shape_negotiation import answered_conversation
from .suggestions import Suggestions

# Ids that carry names: made up by the template, or taken apart for a result's header.
#
# Learned only if a call is written with its id and without its name.


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


def row_slots(row: Row) -> tuple[RowSlot, ...]:
    """Return the slots of a row, in order."""
    return tuple(piece for piece in row if isinstance(piece, RowSlot))


def cut_at(row: Row, word: str, slot: RowSlot) -> Row:
    """Put a slot wherever the literals of a row show this word.

    `("<p k>v</p>",)` with `k` for the key becomes `("<p ", KEY, ">v</p>")`.
    """
    cut: list[str | RowSlot] = []
    for piece in row:
        if isinstance(piece, RowSlot):
            cut.append(piece)
            continue
        first, *others = piece.split(word)
        cut.append(first)
        for literal in others:
            cut += [slot, literal]
    return tuple(piece for piece in cut if piece != "")


def literals_around(row: Row, slot: RowSlot) -> tuple[str, str]:
    """Return the literals right before and right after the first such slot."""
    if slot not in row:
        return "", ""
    at = row.index(slot)
    before = row[at - 1] if at and not isinstance(row[at - 1], RowSlot) else ""
    after = row[at + 1] if at + 1 < len(row) and not isinstance(row[at + 1], RowSlot) else ""
    return str(before), str(after)


def quotes_around(row: Row, slot: RowSlot) -> tuple[str, str]:
    """Return the quotes around a slot, or the whole literals if it has none."""
    before, after = literals_around(row, slot)
    sign = _same_sign(before, after)
    return (sign, sign) if sign else (before, after)


def _same_sign(before: str, after: str) -> str:
    # A letter or a space on both sides is not a quote, e.g. in `a Kb`.
    sign = before[-1:]
    return "" if sign != after[:1] or sign.isalnum() or sign.isspace() else sign


def with_around(row: Row, before: str, after: str) -> Row:
    """Return the row with other literals right before and right after the value."""
    return tuple(piece for piece in _with_both_literals(row, before, after) if piece != "")


def _with_both_literals(row: Row, before: str, after: str) -> Row:
    """Return the same with both literals, also if one is empty."""
    old_before, old_after = literals_around(row, RowSlot.VALUE)
    at = row.index(RowSlot.VALUE)
    rest = row[at + 1 + bool(old_after) :]
    return (*row[: at - bool(old_before)], before, RowSlot.VALUE, after, *rest)


def wrap_in(row: Row, plain: Row) -> tuple[str, str] | None:
    """Return the texts that `row` adds around the value of `plain`, or None if they do not fit."""
    if row_slots(row) != row_slots(plain):
        return None
    before, after = literals_around(row, RowSlot.VALUE)
    plain_before, plain_after = literals_around(plain, RowSlot.VALUE)
    if not before.startswith(plain_before) or not after.endswith(plain_after):
        return None
    if with_around(row, plain_before, plain_after) != plain:
        return None
    return before[len(plain_before) :], after[: len(after) - len(plain_after)]


def without_equal_quotes(row: Row) -> Row | None:
    """Remove one sign on both sides of the value, if it is the same on both."""
    before, after = literals_around(row, RowSlot.VALUE)
    return with_around(row, before[:-1], after[1:]) if _same_sign(before, after) else None


def match_row(row: Row, text: str, key: str | None) -> str | None:
    """Return the text of the value if an entry matches `row`, else None."""
    pattern = ""
    for piece in row:
        if piece is RowSlot.VALUE:
            pattern += "(.*)"
        elif piece is RowSlot.KEY:
            pattern += re.escape(key or "")
        else:
            pattern += re.escape(piece)
    match = re.fullmatch(pattern, text, re.DOTALL)
    return match.group(1) if match else None


def read_entry(text: str, rows: Sequence[Row], key: str | None) -> tuple[Row, str] | None:
    """Read the value of an entry by a matching row, or by the common part of the rows."""
    for row in rows:
        value = match_row(row, text, key)
        if value is not None:
            return row, value
    # The first rows, of a number and of a string, differ only in a tag that names the type.
    return _read_flagged_entry(text, rows[:2], key) if len(rows) > 1 else None


def _read_flagged_entry(text: str, rows: Sequence[Row], key: str | None) -> tuple[Row, str] | None:
    """Read an entry whose literals name its type: rows differ in the middle of a literal."""
    # `type="string">` and `type="number">` differ inside a literal, which the pattern leaves open.
    rows = [_with_both_literals(row, *literals_around(row, RowSlot.VALUE)) for row in rows]
    if len({row_slots(row) for row in rows}) != 1 or len({len(row) for row in rows}) != 1:
        return None
    pattern = ""
    names: list[str] = []
    for at, column in enumerate(zip(*rows, strict=True)):
        piece = column[0]
        if piece is RowSlot.VALUE:
            pattern += "(?P<value>.*)"
        elif piece is RowSlot.KEY:
            pattern += re.escape(key or "")
        else:
            names.append(f"literal{at}")
            pattern += (
                f"(?P<literal{at}>{_differing_pattern([str(literal) for literal in column])})"
            )
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        return None
    row = tuple(
        piece if isinstance(piece, RowSlot) else match.group(f"literal{at}")
        for at, piece in enumerate(rows[0])
    )
    return tuple(piece for piece in row if piece != ""), match.group("value")


def _differing_pattern(literals: Sequence[str]) -> str:
    """Return a pattern of the common prefix and suffix of literals."""
    if len(set(literals)) == 1:
        return re.escape(literals[0])
    head = common_prefix(*literals)
    tail = common_suffix(*(literal[len(head) :] for literal in literals))
    return f"{re.escape(head)}.*?{re.escape(tail)}"


_PLAIN = (JsonType.BOOLEAN, JsonType.ARRAY, JsonType.OBJECT, JsonType.NULL)


def plain_row(rows: Mapping[JsonType, Row | None]) -> Row:
    """Choose the row of values without quotes or other signs of their own."""
    string = rows[JsonType.STRING] or (RowSlot.VALUE,)
    number = rows.get(JsonType.INTEGER) or string
    # A boolean has no quotes; a number may have some of its own.
    for kind in _PLAIN:
        row = rows.get(kind)
        if row is not None and wrap_in(number, row) is not None:
            return row
    return number


# Slots: places in a text that change with one thing, found by two renders that differ in it.


class SeenSlot(NamedTuple):
    """The place of one thing in a text of sentinels."""

    slot: RowSlot
    """The slot's kind, e.g. NAME."""
    word: str
    """The sentinel in its place, e.g. `qkphffqx`."""
    times: int = 1
    """How often the text has it, e.g. 2 in `<f>…</f>`."""

    def cut(self, row: Row) -> Row:
        """Put the slot into the literals of a row."""
        return cut_at(row, self.word, self.slot)


def learn_slot(slot: RowSlot, word: str, one: str | None, other: str | None) -> SeenSlot | None:
    """Find the slot of a thing: `word` is in `one`, and replaced by another word in `other`.

    Return None if there is none: the thing is not written, or the word comes from elsewhere. A
    text that is None was refused, and decides nothing.
    """
    # A name that occurs in both renders comes from the list of tools, not from the call.
    times = (one or "").count(word) - (other or "").count(word)
    return SeenSlot(slot, word, times) if times > 0 else None


# The calls of a turn: the frame, the arguments in it, the row of one call.


def assemble_call(
    frame: CallsFrame,
    slots: Sequence[SeenSlot],
    arguments: ArgumentFormat,
    arguments_text: str,
    section: tuple[str, str],
) -> CallFormat | None:
    """Build the row of one call, or return None if it lacks the arguments in one piece.

    `arguments_text` holds the arguments of the frame's call.
    """
    opening, close = section
    call = frame.call
    around = f"{opening}{call}{close}"
    # The surroundings of a single call may include its brackets, since no separator showed them.
    if call.count(arguments_text) != 1 or frame.limit is not CallLimit.MANY:
        if around.count(arguments_text) != 1:
            return None
        # The surroundings of a single call belong to it; or the arguments share their last
        # characters with the close of the section.
        call, opening, close = around, "", ""
    return CallFormat(
        row=row_with_places(call, [*slots, SeenSlot(RowSlot.ARGUMENTS, arguments_text)]),
        arguments=arguments,
        section_open=opening,
        section_close=close,
        separator=frame.repetition.separator,
        later_close=frame.later_close,
        index_base=frame.index_base,
        index_goes_on=frame.goes_on,
        limit=frame.limit,
    )


def row_with_places(call: str, slots: Sequence[SeenSlot]) -> Row:
    """Turn the text of a call made of sentinels into a row."""
    row: Row = (call,)
    for slot in (*slots, SeenSlot(RowSlot.INDEX, INDEX_MARK)):
        row = slot.cut(row)
    return row


def row_without_arguments(text: str, calls: CallFormat, slots: Sequence[SeenSlot]) -> Row:
    """Turn the text of a first call without arguments into a row.

    The number of the call is located by the literal before it.
    """
    row = calls.row
    for at, piece in enumerate(row):
        if piece is not RowSlot.INDEX:
            continue
        before = row[at - 1] if at and not isinstance(row[at - 1], RowSlot) else ""
        shown = f"{before}{calls.index_base}"
        if before and text.count(shown) == 1:
            text = text.replace(shown, f"{before}{INDEX_MARK}")
    return row_with_places(text, slots)
