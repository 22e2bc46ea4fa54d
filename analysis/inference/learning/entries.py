"""How the entries of a container follow one another: arguments in a call, items, members.

A site is a place whose value can be chosen and whose text can be seen; everything about the
container is learnt by choosing values and looking at the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.alignment import Repetition, decompose, find_slots
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import JsonType, Order, Slot
from autoparser.analysis.inference.probing import Sentinels

Site: TypeAlias = Callable[[Json], "str | None"]
"""The text that shows when the place has this value; None where the template raises."""


@dataclass(frozen=True, slots=True)
class Place:
    """A container whose entries can be chosen: an array, or an object where `keyed`."""

    site: Site
    sentinels: Sentinels
    keyed: bool

    def one(self, value: Json, kind: JsonType = JsonType.STRING) -> Json:
        """Return a container with one entry."""
        return {self.sentinels.typed_keys[kind]: value} if self.keyed else [value]

    def strings(self, count: int) -> Json:
        """Return a container with so many strings, its keys in descending order."""
        values = self.sentinels.values[:count]
        if self.keyed:
            return dict(zip(self.sentinels.keys, values, strict=False))
        return list(values)

    def key(self, kind: JsonType) -> str | None:
        """Return the key under which `one` puts a value of this type."""
        return self.sentinels.typed_keys[kind] if self.keyed else None


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """What stands around the entries of a container, and in which order they come."""

    repetition: Repetition
    """Prefix: all before the first entry; suffix: all after the last."""
    order: Order = Order.GIVEN

    def inside(self, text: str | None) -> str | None:
        """Return the text of the entries alone."""
        if text is None:
            return None
        head, tail = self.repetition.prefix, self.repetition.suffix
        long_enough = len(text) >= len(head) + len(tail)
        if long_enough and text.startswith(head) and text.endswith(tail):
            return text[len(head) : len(text) - len(tail)]
        return None

    @property
    def margin(self) -> str:
        """What the line begins with on which the container ends, where it is a line of its own."""
        return _line_begun(self.repetition.suffix)

    @property
    def indent(self) -> str:
        """What more than that the line of an entry begins with; empty where all is on one line."""
        separator = self.repetition.separator
        return _line_begun(separator[separator.find("\n") :]).removeprefix(self.margin)


def _line_begun(text: str) -> str:
    broken = re.match(r"\n([ \t]*)", text)
    return broken.group(1) if broken else ""


def learn_entries(place: Place) -> EntryOrder | None:
    """Learn by one entry and two what separates entries; None where they cannot be found."""
    one = place.site(place.strings(1))
    if one is None:
        return None
    labels = _labels(place)
    single = find_slots(one, labels)
    if (Slot.VALUE, 0) not in single.slots or (place.keyed and (Slot.KEY, 0) not in single.slots):
        return None
    repetition = Repetition(single.literals[0], "", "", "", single.literals[-1])
    order = Order.GIVEN
    two = place.site(place.strings(2))
    pair = find_slots(two, labels) if two is not None else None
    if pair is not None and len(pair.slots) == 2 * len(single.slots):
        numbers = [number for _, number in pair.slots]
        border = next(at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1])
        repetition = decompose(pair.literals[0], pair.literals[border], pair.literals[-1])
        if place.keyed and numbers[0] == 1:
            order = _sorting(place)
    return EntryOrder(repetition, order)


def _labels(place: Place) -> Mapping[str, tuple[Slot, int]]:
    marks = place.sentinels
    labels = {word: (Slot.VALUE, at) for at, word in enumerate(marks.values)}
    if place.keyed:
        labels |= {word: (Slot.KEY, at) for at, word in enumerate(marks.keys)}
    return labels


def _sorting(place: Place) -> Order:
    """Say how members are sorted, which were given in descending order and came in ascending."""
    marks = place.sentinels
    upper, lower = "B" + marks.keys[1], "a" + marks.keys[1]
    mixed: dict[str, Json] = {
        marks.keys[0]: marks.values[0],
        upper: marks.values[1],
        lower: marks.values[2],
    }
    text = place.site(mixed)
    if text is not None and text.find(upper) > text.find(lower):
        return Order.SORTED_FOLDED
    return Order.SORTED
