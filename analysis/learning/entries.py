"""How the entries of a container are written: arguments in a call, items, members.

A site is a place whose value can be chosen and whose text can be seen; everything about the
container is learnt by choosing values and looking at the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from autoparser.analysis.alignment import Repetition, common_prefix, common_suffix, decompose
from autoparser.analysis.alignment import find_slots
from autoparser.analysis.conversation import Json
from autoparser.analysis.format import JsonType, Row, Slot
from autoparser.analysis.probing import Sentinels

Site: TypeAlias = Callable[[Json], "str | None"]
"""The text that shows when the place has this value; None where the template raises."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What was learnt about a container's entries."""

    repetition: Repetition
    """Prefix: all before the first entry; suffix: all behind the last."""
    rows: Mapping[JsonType, Row | None]
    """How an entry of each type is written; a type that is missing could not be made out."""
    words: Mapping[str, str]
    """The words for true, false and null."""
    swapped: bool
    """Members given in descending order came out in ascending order."""
    sample: Mapping[JsonType, str]
    """The text of the value that is an array and of the one that is an object."""
    refused: frozenset[JsonType] = frozenset()
    """Types of values on which the template raises."""


class Member:
    """Values of a container with one entry or several, keyed or not."""

    def __init__(self, sentinels: Sentinels, *, keyed: bool) -> None:
        """Prepare values for a container; `keyed` ones are objects."""
        self.sentinels = sentinels
        self.keyed = keyed

    def one(self, value: Json, kind: JsonType = JsonType.STRING) -> Json:
        """Give a container with one entry."""
        return {self.sentinels.typed_keys[kind]: value} if self.keyed else [value]

    def strings(self, count: int) -> Json:
        """Give a container with so many strings."""
        marks = self.sentinels
        values = marks.values[:count]
        if self.keyed:
            return dict(zip(marks.keys, values, strict=False))
        return list(values)


def learn_entries(site: Site, member: Member) -> Entries | None:
    """Learn how a container writes its entries; None where its entries cannot be found."""
    marks = member.sentinels
    one = site(member.strings(1))
    if one is None:
        return None
    labels = {marks.values[at]: (Slot.VALUE, at) for at in range(3)}
    if member.keyed:
        labels |= {marks.keys[at]: (Slot.KEY, at) for at in range(3)}
    single = find_slots(one, labels)
    if (Slot.VALUE, 0) not in single.slots or (member.keyed and (Slot.KEY, 0) not in single.slots):
        return None
    before, after = single.literals[0], single.literals[-1]
    inner = _row(single.literals[1:-1], single.slots)
    swapped = False
    repetition = Repetition(before, "", "", "", after)
    two = site(member.strings(2))
    if two is not None:
        pair = find_slots(two, labels)
        numbers = [number for _, number in pair.slots]
        swapped = bool(numbers) and numbers[0] == 1
        border = next(
            (at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1]), None
        )
        if border is not None and len(numbers) == 2 * len(single.slots):
            repetition = decompose(pair.literals[0], pair.literals[border], pair.literals[-1])
    row: Row = tuple(
        piece for piece in (repetition.open, *inner, repetition.close) if piece != ""
    )
    refused: set[JsonType] = set()
    rows, words, sample = _typed_rows(site, member, repetition, row, refused)
    return Entries(repetition, rows, words, swapped, sample, frozenset(refused))


def _row(literals: tuple[str, ...], slots: tuple[tuple[Slot, int], ...]) -> Row:
    row: list[str | Slot] = [slots[0][0]]
    for literal, (slot, _) in zip(literals, slots[1:], strict=True):
        if literal:
            row.append(literal)
        row.append(slot)
    return tuple(row)


def _typed_rows(
    site: Site,
    member: Member,
    repetition: Repetition,
    string_row: Row,
    refused: set[JsonType],
) -> tuple[dict[JsonType, Row | None], dict[str, str], dict[JsonType, str]]:
    """Learn the row of each type, by a value of that type alone in the container."""
    marks = member.sentinels
    rows: dict[JsonType, Row | None] = {JsonType.STRING: string_row}
    words: dict[str, str] = {}
    sample: dict[JsonType, str] = {}

    def entry(value: Json, kind: JsonType) -> str | None:
        text = site(member.one(value, kind))
        if text is None:
            refused.add(kind)
            return None
        head, tail = repetition.prefix, repetition.suffix
        if not text.startswith(head) or not text.endswith(tail):
            return None
        return text[len(head) : len(text) - len(tail)]

    for kind, number in ((JsonType.INTEGER, marks.integer), (JsonType.NUMBER, marks.number)):
        text = entry(number, kind)
        if text is None:
            continue
        labels = {str(number): Slot.VALUE}
        if member.keyed:
            labels[marks.typed_keys[kind]] = Slot.KEY
        found = find_slots(text, labels)
        if Slot.VALUE in found.slots:
            rows[kind] = _whole_row(found.literals, found.slots)
    known = [row for row in (rows.get(JsonType.INTEGER), string_row) if row is not None]
    bare = _without_equal_quotes(string_row)
    if bare is not None and bare not in known:
        known.append(bare)
    for kind, values in (
        (JsonType.BOOLEAN, {"true": True, "false": False}),
        (JsonType.NULL, {"null": None}),
    ):
        for word, value in values.items():
            text = entry(value, kind)
            key = marks.typed_keys[kind]
            if text is None:
                continue
            if not text or (member.keyed and key not in text):
                rows[kind] = None
                continue
            seen = read_entry(text, known, key if member.keyed else None)
            if seen is not None:
                rows[kind], words[word] = seen
    for kind in (JsonType.ARRAY, JsonType.OBJECT):
        value: Json = [marks.values[1]] if kind is JsonType.ARRAY else {marks.keys[1]: marks.values[1]}
        text = entry(value, kind)
        if text is None:
            continue
        seen = read_entry(text, known, marks.typed_keys[kind] if member.keyed else None)
        if seen is not None:
            rows[kind], sample[kind] = seen
    return rows, words, sample


def _without_equal_quotes(row: Row) -> Row | None:
    """Take one character off both sides of the value, where it is the same on both."""
    at = row.index(Slot.VALUE)
    if not 0 < at < len(row) - 1:
        return None
    before, after = str(row[at - 1]), str(row[at + 1])
    if isinstance(row[at - 1], Slot) or isinstance(row[at + 1], Slot):
        return None
    if before[-1] != after[0] or before[-1].isalnum() or before[-1].isspace():
        return None
    trimmed = (*row[: at - 1], before[:-1], Slot.VALUE, after[1:], *row[at + 2 :])
    return tuple(piece for piece in trimmed if piece != "")


def _whole_row(literals: tuple[str, ...], slots: tuple[Slot, ...]) -> Row:
    row: list[str | Slot] = []
    for literal, slot in zip(literals, slots, strict=False):
        if literal:
            row.append(literal)
        row.append(slot)
    if literals[-1]:
        row.append(literals[-1])
    return tuple(row)


def read_entry(text: str, known: list[Row], key: str | None) -> tuple[Row, str] | None:
    """Read the value out of an entry by a row that fits, or by what all rows have in common."""
    for row in known:
        value = match_row(row, text, key)
        if value is not None:
            return row, value
    return _flagged(text, known, key) if len(known) > 1 else None


def match_row(row: Row, text: str, key: str | None) -> str | None:
    """Give the text of the value where an entry reads like `row`."""
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


def _flagged(text: str, known: list[Row], key: str | None) -> tuple[Row, str] | None:
    """Read an entry whose literals name its type: rows that differ in the middle of a literal."""
    if len({len(row) for row in known}) != 1:
        known = known[:2]
    shapes = {tuple(piece if isinstance(piece, Slot) else "" for piece in row) for row in known}
    if len(shapes) != 1:
        return None
    pattern = ""
    for column in zip(*known, strict=True):
        piece = column[0]
        if piece is Slot.VALUE:
            pattern += "(?P<value>.*)"
        elif piece is Slot.KEY:
            pattern += re.escape(key or "")
        elif len(set(column)) == 1:
            pattern += f"({re.escape(piece)})"
        else:
            head = common_prefix(*column)
            tail = common_suffix(*(literal[len(head) :] for literal in column))
            pattern += f"({re.escape(head)}.*?{re.escape(tail)})"
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        return None
    value = match.group("value")
    literals = iter([found for found in match.groups() if found is not None])
    names = match.re.groupindex
    groups = [
        found for number, found in enumerate(match.groups(), 1) if number != names["value"]
    ]
    del literals
    remaining = iter(groups)
    row = tuple(
        piece if isinstance(piece, Slot) else (next(remaining) or "") for piece in known[0]
    )
    return row, value


def merged(rows: Mapping[JsonType, Row | None], default: Row) -> dict[JsonType, Row | None]:
    """Leave out the types whose row is the default one."""
    return {kind: row for kind, row in rows.items() if row != default}


__all__ = ["Entries", "Member", "Site", "learn_entries", "match_row", "merged", "read_entry"]
_ = replace
