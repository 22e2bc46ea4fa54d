"""How a value inside another is written: a notation that is known, or one learnt entry by entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoparser.analysis.conversation import Json
from autoparser.analysis.format import (
    Container,
    Escape,
    JsonType,
    Notation,
    Order,
    Row,
    Slot,
    Text,
    json_notation,
    python_notation,
)
from autoparser.analysis.probing import Sentinels

from .entries import Entries, Place, learn_entries
from .keys import learn_key
from .rows import around_value, match_row, plain_row, with_around, wrap_in
from .strings import hostile_string, learn_text

_ORDERS = (Order.GIVEN, Order.SORTED, Order.SORTED_FOLDED)


def known_notations(
    *, comma: str = ", ", colon: str = ": ", indent: str = ""
) -> Iterator[Notation]:
    """Give the notations that Python itself writes, the usual ones first."""
    for order in _ORDERS:
        for ascii_only in (False, True):
            yield json_notation(
                comma=comma, colon=colon, ascii_only=ascii_only, order=order, indent=indent
            )
    if not indent:
        yield python_notation()


def rich_object(sentinels: Sentinels) -> dict[str, Json]:
    """Give an object that tells the known notations apart: every type, nested, out of order."""
    keys, values = sentinels.keys, sentinels.values
    return {
        keys[0]: [1, hostile_string(values[0]), None],
        "B" + keys[1]: {"z": 2.5, "a": []},
        keys[2]: {},
        "a" + hostile_string(keys[1]): True,
    }


def rich_array(sentinels: Sentinels) -> list[Json]:
    """Give an array that tells the known notations apart."""
    return [1, hostile_string(sentinels.values[0]), None, False, [2.5, []], rich_object(sentinels)]


_SPACINGS = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"))


def recognise(value: Json, text: str) -> Notation | None:
    """Say which known notation writes `value` as `text`."""
    for comma, colon in _SPACINGS:
        for notation in known_notations(comma=comma, colon=colon):
            if notation.write(value) == text:
                return notation
    return None


_DEPTH = 1
"""Containers inside a container are learnt so deep; below, they are taken to be written alike."""


def learn_container(place: Place, entries: Entries, depth: int = _DEPTH) -> Container:
    """Learn how a container and the values in it are written."""
    values = _value_notation(place, entries)
    default = plain_row(entries.rows)
    rows = {
        kind: None if row is None else _unwrapped(row, kind, entries, default)
        for kind, row in entries.rows.items()
    }
    container = Container(
        open=entries.repetition.prefix,
        close=entries.repetition.suffix,
        separator=entries.repetition.separator,
        entry=default,
        typed={kind: row for kind, row in rows.items() if row != default},
        key=learn_key(place) if place.keyed else Text(),
    )
    empty = place.site({} if place.keyed else [])
    if empty is not None:
        container = replace(container, empty=empty)
    if depth:
        values = _with_containers(place, entries, values, depth)
    container = replace(container, values=values)
    return replace(container, order=_order(place, entries.swapped))


def _wrap_of(kind: JsonType, entries: Entries, default: Row) -> tuple[str, str, Row]:
    """Say what a type's own signs are, and the row without them."""
    row = entries.rows.get(kind)
    if row is None:
        return "", "", default
    for plain in (default, entries.rows.get(JsonType.ARRAY), entries.rows.get(JsonType.OBJECT)):
        wrap = None if plain is None else wrap_in(row, plain)
        if plain is not None and wrap is not None:
            return *wrap, plain
    return "", "", row


def _unwrapped(row: Row, kind: JsonType, entries: Entries, default: Row) -> Row:
    if kind is JsonType.STRING:
        return _wrap_of(kind, entries, default)[2]
    if kind in (JsonType.INTEGER, JsonType.NUMBER):
        wraps = {_wrap_of(each, entries, default)[:2] for each in _NUMBERS if each in entries.rows}
        return _wrap_of(kind, entries, default)[2] if len(wraps) == 1 else row
    return row


_NUMBERS = (JsonType.INTEGER, JsonType.NUMBER)


def _value_notation(place: Place, entries: Entries) -> Notation:
    """Learn how the plain values in a container are written."""
    default = plain_row(entries.rows)
    usual = json_notation()
    number = Text()
    wraps = {_wrap_of(kind, entries, default)[:2] for kind in _NUMBERS if kind in entries.rows}
    if len(wraps) == 1:
        opening, close = wraps.pop()
        number = Text(opening, close)
    return replace(
        usual,
        string=_string_text(place, entries, default) or Text(),
        number=number,
        true=entries.words.get("true", usual.true),
        false=entries.words.get("false", usual.false),
        null=entries.words.get("null", usual.null),
    )


def _string_text(place: Place, entries: Entries, default: Row) -> Text | None:
    """Learn quotes and escapes of the strings in a container."""
    word = place.sentinels.values[0]
    opening, close, plain = _wrap_of(JsonType.STRING, entries, default)
    rows = [(plain, opening, close)]
    before, after = around_value(entries.string_row)
    if not opening and before[-1:] and before[-1:] == after[:1] and not before[-1].isalnum():
        # Quotes that other types may have as well, or that the string chooses itself.
        bare = with_around(entries.string_row, before[:-1], after[1:])
        rows.append((bare, before[-1], after[0]))

    for row, left, right in rows:

        def written(value: str, row: Row = row) -> str | None:
            text = place.site(place.one(value))
            entry = None if text is None else entries.inside(text)
            key = place.key(JsonType.STRING)
            return None if entry is None else match_row(row, entry, key)

        shown = written(hostile_string(word))
        if shown is None:
            continue
        quotes = [(left, right)] + ([("", "")] if left or right else [])
        text = learn_text(shown, word, quotes, written)
        if text is not None:
            if row != plain and text.escape is not Escape.PYTHON:
                return replace(text, open="", close="")
            return text
    return None


def _with_containers(place: Place, entries: Entries, values: Notation, depth: int) -> Notation:
    """Learn how the arrays and the objects in a container are written."""
    learnt: dict[JsonType, Container] = {}
    for kind in (JsonType.ARRAY, JsonType.OBJECT):
        row = entries.rows.get(kind)
        if kind not in entries.sample or row is None:
            continue
        found = _nested(place, entries, row, kind, depth)
        if found is not None:
            learnt[kind] = found
    array = learnt.get(JsonType.ARRAY, values.array)
    object_ = learnt.get(JsonType.OBJECT, values.object)
    outer = replace(values, array=array, object=object_)
    return replace(outer, array=_tied(array, outer), object=_tied(object_, outer))


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


def _nested(
    place: Place, entries: Entries, row: Row, kind: JsonType, depth: int
) -> Container | None:
    keyed = kind is JsonType.OBJECT

    def site(value: Json) -> str | None:
        text = place.site(place.one(value, kind))
        entry = None if text is None else entries.inside(text)
        return None if entry is None else match_row(row, entry, place.key(kind))

    marks = place.sentinels
    rich: Json = rich_object(marks) if keyed else rich_array(marks)
    text = site(rich)
    known = None if text is None else recognise(rich, text)
    if known is not None:
        return replace(known.object if keyed else known.array, values=known)
    inner = Place(site, marks, keyed)
    found = learn_entries(inner)
    return None if found is None else learn_container(inner, found, depth - 1)


def _order(place: Place, swapped: bool) -> Order:
    """Say in which order members are written."""
    if not swapped or not place.keyed:
        return Order.GIVEN
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
