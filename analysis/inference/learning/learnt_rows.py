"""Rows of entries: reading a value out of an entry, and telling a value's own quotes from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autoparser.analysis.core.alignment import common_prefix, common_suffix
from autoparser.analysis.core.format import JsonType, Row, Slot


def shape_of(row: Row) -> tuple[Slot, ...]:
    """Return the slots of a row, in order."""
    return tuple(piece for piece in row if isinstance(piece, Slot))


def cut_at(row: Row, word: str, slot: Slot) -> Row:
    """Put a slot wherever the literals of a row show this word.

    `("<p k>v</p>",)` with `k` for the key becomes `("<p ", KEY, ">v</p>")`.
    """
    cut: list[str | Slot] = []
    for piece in row:
        if isinstance(piece, Slot):
            cut.append(piece)
            continue
        first, *others = piece.split(word)
        cut.append(first)
        for literal in others:
            cut += [slot, literal]
    return tuple(piece for piece in cut if piece != "")


def around(row: Row, slot: Slot) -> tuple[str, str]:
    """Return the literals right before and right after the first such slot."""
    if slot not in row:
        return "", ""
    at = row.index(slot)
    before = row[at - 1] if at and not isinstance(row[at - 1], Slot) else ""
    after = row[at + 1] if at + 1 < len(row) and not isinstance(row[at + 1], Slot) else ""
    return str(before), str(after)


def quotes_around(row: Row, slot: Slot) -> tuple[str, str]:
    """Return what stands around a slot; of what stands farther out than quotes, nothing."""
    before, after = around(row, slot)
    sign = _same_sign(before, after)
    return (sign, sign) if sign else (before, after)


def _same_sign(before: str, after: str) -> str:
    sign = before[-1:]
    return "" if sign != after[:1] or sign.isalnum() or sign.isspace() else sign


def with_around(row: Row, before: str, after: str) -> Row:
    """Return the row with other literals right before and right after the value."""
    at = row.index(Slot.VALUE)
    start = at - 1 if at and not isinstance(row[at - 1], Slot) else at
    has_after = at + 1 < len(row) and not isinstance(row[at + 1], Slot)
    rest = row[at + 2 :] if has_after else row[at + 1 :]
    changed = (*row[:start], before, Slot.VALUE, after, *rest)
    return tuple(piece for piece in changed if piece != "")


def wrap_in(row: Row, plain: Row) -> tuple[str, str] | None:
    """Say what `row` writes around the value beyond what `plain` does; None: not a matter of it."""
    if shape_of(row) != shape_of(plain):
        return None
    before, after = around(row, Slot.VALUE)
    plain_before, plain_after = around(plain, Slot.VALUE)
    if not before.startswith(plain_before) or not after.endswith(plain_after):
        return None
    if with_around(row, plain_before, plain_after) != plain:
        return None
    return before[len(plain_before) :], after[: len(after) - len(plain_after)]


def without_equal_quotes(row: Row) -> Row | None:
    """Take one sign off both sides of the value, where it is the same on both."""
    before, after = around(row, Slot.VALUE)
    return with_around(row, before[:-1], after[1:]) if _same_sign(before, after) else None


def match_row(row: Row, text: str, key: str | None) -> str | None:
    """Return the text of the value where an entry reads like `row`."""
    pattern = ""
    for piece in row:
        if piece is Slot.VALUE:
            pattern += "(.*)"
        elif piece is Slot.KEY:
            pattern += re.escape(key or "")
        else:
            pattern += re.escape(piece)
    match = re.fullmatch(pattern, text, re.DOTALL)
    return match.group(1) if match else None


def read_entry(text: str, known: Sequence[Row], key: str | None) -> tuple[Row, str] | None:
    """Read the value out of an entry by a row that fits, or by what the rows have in common."""
    for row in known:
        value = match_row(row, text, key)
        if value is not None:
            return row, value
    return _flagged(text, known[:2], key) if len(known) > 1 else None


def _flagged(text: str, known: Sequence[Row], key: str | None) -> tuple[Row, str] | None:
    """Read an entry whose literals name its type: rows that differ in the middle of a literal."""
    known = [_padded(row) for row in known]
    if len({shape_of(row) for row in known}) != 1 or len({len(row) for row in known}) != 1:
        return None
    pattern = ""
    names: list[str] = []
    for at, column in enumerate(zip(*known, strict=True)):
        piece = column[0]
        if piece is Slot.VALUE:
            pattern += "(?P<value>.*)"
        elif piece is Slot.KEY:
            pattern += re.escape(key or "")
        else:
            names.append(f"literal{at}")
            pattern += f"(?P<literal{at}>{_varying([str(literal) for literal in column])})"
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        return None
    row = tuple(
        piece if isinstance(piece, Slot) else match.group(f"literal{at}")
        for at, piece in enumerate(known[0])
    )
    return tuple(piece for piece in row if piece != ""), match.group("value")


def _padded(row: Row) -> Row:
    """Return the row with a literal on both sides of the value, be it empty."""
    before, after = around(row, Slot.VALUE)
    at = row.index(Slot.VALUE)
    start = at - 1 if before else at
    end = at + 2 if after else at + 1
    return (*row[:start], before, Slot.VALUE, after, *row[end:])


def _varying(literals: Sequence[str]) -> str:
    """Return the pattern of a literal of which only the two ends are sure."""
    if len(set(literals)) == 1:
        return re.escape(literals[0])
    head = common_prefix(*literals)
    tail = common_suffix(*(literal[len(head) :] for literal in literals))
    return f"{re.escape(head)}.*?{re.escape(tail)}"


_PLAIN = (JsonType.BOOLEAN, JsonType.ARRAY, JsonType.OBJECT, JsonType.NULL)


def plain_row(rows: Mapping[JsonType, Row | None]) -> Row:
    """Choose the row of values that have nothing of their own around them."""
    string = rows[JsonType.STRING] or (Slot.VALUE,)
    number = rows.get(JsonType.INTEGER) or string
    for kind in _PLAIN:
        row = rows.get(kind)
        if row is not None and wrap_in(number, row) is not None:
            return row
    return number
