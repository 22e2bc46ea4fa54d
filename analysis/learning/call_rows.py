"""Build and match rows: literals with slots for names, ids, keys and values.

The parts: operations on rows (`cut_at`, `match_row`, `read_entry`), slots found by comparing two
renders (`learn_slot`), and the row of a whole call (`assemble_call`). For example two renders of
calls with different names

    <call name="qkphffqx">{…}</call>
    <call name="frnctwxr">{…}</call>

show one slot for the name, and with the arguments' text the row of a call is

    ('<call name="', NAME, '">', ARGUMENTS, '</call>')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.text_alignment import common_prefix, common_suffix

from .call_frame import CallsFrame
from .call_numbers import INDEX_MARK


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
