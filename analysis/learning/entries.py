"""How the entries of a container are written: arguments in a call, items, members.

A site is a place whose value can be chosen and whose text can be seen; everything about the
container is learnt by choosing values and looking at the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from autoparser.analysis.alignment import Pieces, Repetition, decompose, find_slots
from autoparser.analysis.conversation import Json
from autoparser.analysis.format import JsonType, Row, Slot
from autoparser.analysis.probing import Sentinels

from .rows import read_entry, without_equal_quotes

Site: TypeAlias = Callable[[Json], "str | None"]
"""The text that shows when the place has this value; None where the template raises."""


@dataclass(frozen=True, slots=True)
class Place:
    """A container whose entries can be chosen: an array, or an object where `keyed`."""

    site: Site
    sentinels: Sentinels
    keyed: bool

    def one(self, value: Json, kind: JsonType = JsonType.STRING) -> Json:
        """Give a container with one entry."""
        return {self.sentinels.typed_keys[kind]: value} if self.keyed else [value]

    def strings(self, count: int) -> Json:
        """Give a container with so many strings, its keys in descending order."""
        values = self.sentinels.values[:count]
        if self.keyed:
            return dict(zip(self.sentinels.keys, values, strict=False))
        return list(values)

    def key(self, kind: JsonType) -> str | None:
        """Give the key under which `one` puts a value of this type."""
        return self.sentinels.typed_keys[kind] if self.keyed else None


@dataclass(slots=True)
class Entries:
    """What was learnt about a container's entries."""

    repetition: Repetition
    """Prefix: all before the first entry; suffix: all behind the last."""
    swapped: bool
    """Members given in descending order came out in ascending order."""
    rows: dict[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    """How an entry of each type is written; None: it is not written; missing: not made out."""
    words: dict[str, str] = field(default_factory=dict[str, str])
    """The words for true, false and null."""
    sample: set[JsonType] = field(default_factory=set[JsonType])
    """Containers whose own text can be read out of an entry."""
    refused: set[JsonType] = field(default_factory=set[JsonType])
    """Types of values on which the template raises."""

    def inside(self, text: str) -> str | None:
        """Give the text of the entries alone."""
        head, tail = self.repetition.prefix, self.repetition.suffix
        long_enough = len(text) >= len(head) + len(tail)
        if long_enough and text.startswith(head) and text.endswith(tail):
            return text[len(head) : len(text) - len(tail)]
        return None

    @property
    def string_row(self) -> Row:
        """How an entry with a string is written."""
        return self.rows[JsonType.STRING] or (Slot.VALUE,)


def learn_entries(place: Place) -> Entries | None:
    """Learn how a container writes its entries; None where its entries cannot be found."""
    one = place.site(place.strings(1))
    if one is None:
        return None
    labels = _labels(place)
    single = find_slots(one, labels)
    if (Slot.VALUE, 0) not in single.slots or (place.keyed and (Slot.KEY, 0) not in single.slots):
        return None
    repetition = Repetition(single.literals[0], "", "", "", single.literals[-1])
    swapped = False
    two = place.site(place.strings(2))
    pair = find_slots(two, labels) if two is not None else None
    if pair is not None and len(pair.slots) == 2 * len(single.slots):
        numbers = [number for _, number in pair.slots]
        swapped = numbers[0] == 1
        border = next(at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1])
        repetition = decompose(pair.literals[0], pair.literals[border], pair.literals[-1])
    entries = Entries(repetition, swapped)
    inner = _row(single)
    row = (repetition.open, *inner, repetition.close)
    entries.rows[JsonType.STRING] = tuple(piece for piece in row if piece != "")
    _learn_numbers(place, entries)
    _learn_others(place, entries)
    return entries


def _labels(place: Place) -> Mapping[str, tuple[Slot, int]]:
    marks = place.sentinels
    labels = {word: (Slot.VALUE, at) for at, word in enumerate(marks.values)}
    if place.keyed:
        labels |= {word: (Slot.KEY, at) for at, word in enumerate(marks.keys)}
    return labels


def _row(single: Pieces[tuple[Slot, int]]) -> Row:
    row: list[str | Slot] = [single.slots[0][0]]
    for literal, (slot, _) in zip(single.literals[1:-1], single.slots[1:], strict=True):
        row += [literal, slot] if literal else [slot]
    return tuple(row)


def _entry(place: Place, entries: Entries, value: Json, kind: JsonType) -> str | None:
    """Show the container's only entry; None where there is none to be seen."""
    text = place.site(place.one(value, kind))
    if text is None:
        entries.refused.add(kind)
        return None
    key = place.key(kind)
    if key is not None and key not in text:
        entries.rows[kind] = None
        return None
    return entries.inside(text)


def _learn_numbers(place: Place, entries: Entries) -> None:
    marks = place.sentinels
    for kind, number in ((JsonType.INTEGER, marks.integer), (JsonType.NUMBER, marks.number)):
        text = _entry(place, entries, number, kind)
        key = place.key(kind)
        if text is None:
            continue
        labels = {str(number): Slot.VALUE} | ({} if key is None else {key: Slot.KEY})
        found = find_slots(text, labels)
        if Slot.VALUE in found.slots:
            row: list[str | Slot] = [found.literals[0]]
            for slot, literal in zip(found.slots, found.literals[1:], strict=True):
                row += [slot, literal]
            entries.rows[kind] = tuple(piece for piece in row if piece != "")


def _learn_others(place: Place, entries: Entries) -> None:
    """Learn the rows of the types whose text is no sentinel: by the rows that are known."""
    marks = place.sentinels
    known = [row for row in (entries.rows.get(JsonType.INTEGER), entries.string_row) if row]
    bare = without_equal_quotes(entries.string_row)
    if bare is not None and bare not in known:
        known.append(bare)
    word = marks.values[1]
    samples: tuple[tuple[JsonType, str, Json], ...] = (
        (JsonType.BOOLEAN, "true", True),
        (JsonType.BOOLEAN, "false", False),
        (JsonType.NULL, "null", None),
        (JsonType.ARRAY, "", [word]),
        (JsonType.OBJECT, "", {marks.keys[1]: word}),
    )
    for kind, name, value in samples:
        text = _entry(place, entries, value, kind)
        key = place.key(kind)
        if text is None:
            continue
        seen = read_entry(text, known, key)
        if seen is None:
            continue
        entries.rows[kind] = seen[0]
        if name:
            entries.words[name] = seen[1]
        else:
            entries.sample.add(kind)
