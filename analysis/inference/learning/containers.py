"""How a container is written, put together from what was learnt of its entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import (
    Container,
    Escape,
    JsonType,
    Notation,
    Row,
    Slot,
    Text,
    json_notation,
    python_notation,
)
from autoparser.analysis.inference.probing import Sentinels

from .entries import EntryOrder, Place, learn_entries
from .keys import learn_key
from .learnt_rows import match_row, plain_row, wrap_in
from .python_notations import every_type, recognise, rich_array, rich_object
from .slots import SeenSlot
from .string_notation import Strings, learn_strings
from .typed_rows import NUMBERS, TypedRows, learn_typed_rows

_DEPTH = 1
"""Containers inside a container are learnt so deep; below, they are taken to be written alike."""


def learn_types(
    place: Place, entries: EntryOrder, strings: Strings, depth: int = _DEPTH
) -> TypedRows:
    """Learn how entries are written by the type of their value, and containers inside."""
    types = learn_typed_rows(place, entries, strings.row)
    if not depth:
        return types
    found = {
        kind: _nested(place, entries, row, kind, depth)
        for kind in (JsonType.ARRAY, JsonType.OBJECT)
        if (row := types.rows.get(kind)) is not None
    }
    nested = {kind: container for kind, container in found.items() if container is not None}
    return replace(types, containers=nested)


def _nested(
    place: Place, entries: EntryOrder, row: Row, kind: JsonType, depth: int
) -> Container | None:
    keyed = kind is JsonType.OBJECT

    def site(value: Json) -> str | None:
        entry = entries.inside(place.site(place.one(value, kind)))
        return None if entry is None else match_row(row, entry, place.key(kind))

    marks = place.sentinels
    rich: Json = rich_object(marks) if keyed else rich_array(marks)
    text = site(rich)
    margin = entries.margin + entries.indent
    known = None if text is None else recognise(rich, text, margin=margin, indent=entries.indent)
    if known is not None:
        return replace(known.object if keyed else known.array, values=known)
    return _learnt(Place(site, marks, keyed), depth - 1)


def _learnt(place: Place, depth: int) -> Container | None:
    """Learn a container entry by entry, as the phases learn the arguments."""
    entries = learn_entries(place)
    if entries is None:
        return None
    key = place.key(JsonType.STRING)
    slot = None if key is None else SeenSlot(Slot.KEY, key)
    strings = learn_strings(place, entries, slot)
    if strings is None:
        return None
    types = learn_types(place, entries, strings, depth)
    cut = entries.repetition
    return replace(
        container_of(entries, strings, types, learn_key(place) if place.keyed else Text()),
        open=cut.prefix,
        close=cut.suffix,
        empty=place.site({} if place.keyed else []) or "",
    )


def container_of(entries: EntryOrder, strings: Strings, types: TypedRows, key: Text) -> Container:
    """Put the container together, without what encloses its entries."""
    default = plain_row(types.rows)
    signs = _own_signs(types, default)
    rows = {kind: signs[kind][2] if kind in signs else row for kind, row in types.rows.items()}
    return Container(
        separator=entries.repetition.separator,
        entry=default,
        typed={kind: row for kind, row in rows.items() if row != default},
        key=key,
        order=entries.order,
        values=_values(strings, types, signs),
    )


def known_object(types: TypedRows) -> Notation | None:
    """Return the known notation that the objects inside a container are written in."""
    container = types.containers.get(JsonType.OBJECT)
    values = None if container is None else container.values
    if container is None or values is None or replace(container, values=None) != values.object:
        return None
    return values


def writes_alike(
    members: Container, known: Notation, entries: EntryOrder, marks: Sentinels
) -> bool:
    """Say whether objects of a known notation are written as these pieces say.

    Then what holds the pieces is such an object: `{"a": {"b": 1}}` is JSON, `a={"b": 1}` has some.
    """
    line, end = entries.margin + entries.indent, entries.margin
    # T6 has asked for names that get escaped: what quotes them may choose the quotes by the name.
    rich = {name: value for name, value in every_type(marks).items() if name.isalnum()}
    body = members.write(list(rich.items()), members.values or known, line)
    if known.object.indent:
        body = f"\n{line}{body}\n{end}"
    return known.write(rich, end) == f"{known.object.open}{body}{known.object.close}"


_Signs: TypeAlias = Mapping[JsonType, tuple[str, str, Row]]
"""What stands around a value of a type because of its type, and the row without that."""


def _own_signs(types: TypedRows, default: Row) -> _Signs:
    """Tell what strings and numbers bring along from what is written around any value."""
    rows = types.rows
    plains = [row for row in (default, rows.get(JsonType.ARRAY), rows.get(JsonType.OBJECT)) if row]
    signs: dict[JsonType, tuple[str, str, Row]] = {}
    for kind in (JsonType.STRING, *NUMBERS):
        row = rows.get(kind)
        if row is not None:
            wraps = ((wrap_in(row, plain), plain) for plain in plains)
            found = ((*wrap, plain) for wrap, plain in wraps if wrap is not None)
            signs[kind] = next(found, ("", "", row))
    numbers = [kind for kind in NUMBERS if kind in signs]
    if len({signs[kind][:2] for kind in numbers}) > 1:
        for kind in numbers:
            del signs[kind]
    return signs


def _values(strings: Strings, types: TypedRows, signs: _Signs) -> Notation:
    """Say how the values in a container are written."""
    usual = json_notation()
    text = strings.text
    if text.escape is not Escape.PYTHON:
        opening, close, _ = signs[JsonType.STRING]
        text = replace(text, open=opening, close=close)
    number = next((Text(*signs[kind][:2]) for kind in NUMBERS if kind in signs), Text())
    outer = replace(
        usual,
        string=text,
        number=number,
        true=types.words.get("true", usual.true),
        false=types.words.get("false", usual.false),
        null=types.words.get("null", usual.null),
        array=types.containers.get(JsonType.ARRAY, usual.array),
        object=types.containers.get(JsonType.OBJECT, usual.object),
    )
    return replace(outer, array=_tied(outer.array, outer), object=_tied(outer.object, outer))


def _tied(container: Container, outer: Notation) -> Container:
    """Let what stands inside a learnt container be written as it was seen, at every depth."""
    inner = container.values
    if inner is None or inner.is_json or inner == python_notation():
        return container
    plain = replace(inner, array=outer.array, object=outer.object)
    if plain == outer:
        return replace(container, values=None)
    if replace(plain, null=outer.null) == outer:
        row = container.row(JsonType.NULL)
        if row is None:
            return replace(container, values=None)
        own = tuple(inner.null if piece is Slot.VALUE else piece for piece in row)
        typed = {**container.typed, JsonType.NULL: tuple(piece for piece in own if piece)}
        return replace(container, values=None, typed=typed)
    nested = replace(
        inner,
        array=replace(outer.array, values=None),
        object=replace(outer.object, values=None),
    )
    return replace(container, values=nested)
