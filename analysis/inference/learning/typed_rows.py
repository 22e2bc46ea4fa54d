"""How entries are written whose value is not a string: by what differs from an entry with one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Container, JsonType, Row, Slot
from autoparser.analysis.inference.probing import Sentinels

from .entries import EntryOrder, Place
from .learnt_rows import cut_at, read_entry, without_equal_quotes

NUMBERS = (JsonType.INTEGER, JsonType.NUMBER)


@dataclass(frozen=True, slots=True)
class TypedRows:
    """How a container's entries are written, by the type of their value."""

    rows: dict[JsonType, Row | None] = field(default_factory=dict[JsonType, "Row | None"])
    """How an entry of each type is written; None: it is not written; missing: not made out."""
    words: dict[str, str] = field(default_factory=dict[str, str])
    """The words for true, false and null."""
    refused: set[JsonType] = field(default_factory=set[JsonType])
    """Types of values on which the template raises."""
    containers: Mapping[JsonType, Container] = field(default_factory=dict[JsonType, Container])
    """How arrays and objects are written, where that could be learnt."""


def typed_samples(marks: Sentinels) -> list[tuple[JsonType, Json]]:
    """Return a value of every type but string; of a type that has two, the usual one comes last."""
    word = marks.values[1]
    return [
        (JsonType.INTEGER, marks.integer),
        (JsonType.NUMBER, marks.number),
        (JsonType.BOOLEAN, False),
        (JsonType.BOOLEAN, True),
        (JsonType.NULL, None),
        (JsonType.ARRAY, [word]),
        (JsonType.OBJECT, {marks.keys[1]: word}),
    ]


def learn_typed_rows(place: Place, entries: EntryOrder, string_row: Row) -> TypedRows:
    """Learn the rows of all types, and the words of those that have words.

    Numbers are sentinels themselves; what else is written is read by the rows that are known.
    """
    types = TypedRows({JsonType.STRING: string_row})
    bare = without_equal_quotes(string_row)
    for kind, value in typed_samples(place.sentinels):
        text = _entry(place, entries, types, value, kind)
        if text is None:
            continue
        key = place.key(kind)
        if kind in NUMBERS:
            if str(value) in text:
                row = cut_at((text,), str(value), Slot.VALUE)
                types.rows[kind] = row if key is None else cut_at(row, key, Slot.KEY)
            continue
        known = [row for row in (types.rows.get(JsonType.INTEGER), string_row) if row]
        if bare is not None and bare not in known:
            known.append(bare)
        seen = read_entry(text, known, key)
        if seen is not None:
            types.rows[kind] = seen[0]
            if kind not in (JsonType.ARRAY, JsonType.OBJECT):
                types.words[json.dumps(value)] = seen[1]
    return types


def _entry(
    place: Place, entries: EntryOrder, types: TypedRows, value: Json, kind: JsonType
) -> str | None:
    """Show the container's only entry; None where there is none to be seen."""
    text = place.site(place.one(value, kind))
    if text is None:
        types.refused.add(kind)
        return None
    key = place.key(kind)
    if key is not None and key not in text:
        types.rows[kind] = None
        return None
    return entries.inside(text)
