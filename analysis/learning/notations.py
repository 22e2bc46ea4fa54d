"""How a value inside another is written: a notation that is known, or one learnt entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from autoparser.analysis.conversation import Json
from autoparser.analysis.format import (
    Container,
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

from .entries import Entries, Member, Site, learn_entries, merged
from .strings import hostile_string, learn_text

_ORDERS = (Order.GIVEN, Order.SORTED, Order.SORTED_FOLDED)


def known_notations(*, comma: str = ", ", colon: str = ": ", indent: str = "") -> Iterator[Notation]:
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
    inner: dict[str, Json] = {
        keys[0]: [1, hostile_string(values[0]), None],
        "B" + keys[1]: {"z": 2.5, "a": []},
        keys[2]: {},
        "a" + keys[1]: True,
    }
    return inner


def rich_array(sentinels: Sentinels) -> list[Json]:
    """Give an array that tells the known notations apart."""
    return [1, hostile_string(sentinels.values[0]), None, False, [2.5, []], rich_object(sentinels)]


def recognise(value: Json, text: str, margin: str = "") -> Notation | None:
    """Say which known notation writes `value` as `text`."""
    for comma, colon in ((", ", ": "), (",", ":"), (",", ": ")):
        for notation in known_notations(comma=comma, colon=colon):
            if notation.write(value, margin) == text:
                return notation
    return None


def learn_container(
    site: Site, sentinels: Sentinels, *, keyed: bool, fallback: Notation
) -> Container | None:
    """Learn how an array or an object in some place is written.

    `site` shows the text of the place alone; `fallback` says what could not be seen.
    """
    rich: Json = rich_object(sentinels) if keyed else rich_array(sentinels)
    text = site(rich)
    if text is not None:
        notation = recognise(rich, text)
        if notation is not None:
            container = notation.object if keyed else notation.array
            return replace(container, values=notation)
    member = Member(sentinels, keyed=keyed)
    entries = learn_entries(site, member)
    if entries is None:
        return None
    values = value_notation(site, member, entries, fallback)
    container = container_of(entries, values)
    empty = site({} if keyed else [])
    container = replace(
        container,
        open=entries.repetition.prefix,
        close=entries.repetition.suffix,
        empty=entries.repetition.prefix + entries.repetition.suffix if empty is None else empty,
        values=values,
    )
    return replace(container, order=order_of(site, member, container, values, entries.swapped))


def container_of(entries: Entries, values: Notation) -> Container:
    """Describe the entries themselves, without what encloses them."""
    rows = _without_quotes(entries, values)
    default = rows.get(JsonType.INTEGER) or rows[JsonType.STRING] or (Slot.VALUE,)
    return Container(
        separator=entries.repetition.separator,
        entry=default,
        typed=merged(rows, default),
    )


def _without_quotes(entries: Entries, values: Notation) -> dict[JsonType, Row | None]:
    """Take the string's own quotes out of its row: the notation writes them."""
    rows = dict(entries.rows)
    row = rows[JsonType.STRING]
    if row is not None:
        rows[JsonType.STRING] = unquoted(row, values.string)
    return rows


def unquoted(row: Row, text: Text) -> Row:
    """Leave a string's quotes out of the literals around its slot."""
    pieces: list[str | Slot] = []
    opening, close = (text.open, text.close)
    if text.escape.value == "python":
        opening = close = "'"
    for at, piece in enumerate(row):
        if isinstance(piece, Slot):
            pieces.append(piece)
            continue
        literal = str(piece)
        if at + 1 < len(row) and row[at + 1] is Slot.VALUE and opening:
            literal = literal.removesuffix(opening)
        if at and row[at - 1] is Slot.VALUE and close:
            literal = literal.removeprefix(close)
        if literal:
            pieces.append(literal)
    return tuple(pieces)


def value_notation(
    site: Site, member: Member, entries: Entries, fallback: Notation
) -> Notation:
    """Learn how the values of a container's entries are written."""
    marks = member.sentinels
    words = entries.words
    text = _string_text(site, member, entries) or Text()
    notation = replace(
        fallback,
        string=text,
        true=words.get("true", fallback.true),
        false=words.get("false", fallback.false),
        null=words.get("null", fallback.null),
    )
    array = entries.sample.get(JsonType.ARRAY)
    object_ = entries.sample.get(JsonType.OBJECT)
    if array is not None:
        learnt = _nested(site, member, entries, JsonType.ARRAY, notation)
        notation = notation if learnt is None else replace(notation, array=learnt)
    if object_ is not None:
        learnt = _nested(site, member, entries, JsonType.OBJECT, notation)
        notation = notation if learnt is None else replace(notation, object=learnt)
    del marks
    return notation


_DEPTH = 2
"""Containers in containers are learnt so deep; below, they are taken to be written alike."""


def _nested(
    site: Site, member: Member, entries: Entries, kind: JsonType, notation: Notation
) -> Container | None:
    row = entries.rows.get(kind)
    if row is None:
        return None

    def inner(value: Json) -> str | None:
        text = site(member.one(value, kind))
        return None if text is None else inside_entry(text, entries, row, member, kind)

    keyed = kind is JsonType.OBJECT
    rich: Json = rich_object(member.sentinels) if keyed else rich_array(member.sentinels)
    text = inner(rich)
    known = None if text is None else recognise(rich, text)
    if known is not None:
        return replace(known.object if keyed else known.array, values=known)
    deeper = Member(member.sentinels, keyed=keyed)
    found = learn_entries(inner, deeper)
    if found is None:
        return None
    string = _string_text(inner, deeper, found)
    values = replace(
        notation,
        string=string or notation.string,
        true=found.words.get("true", notation.true),
        false=found.words.get("false", notation.false),
        null=found.words.get("null", notation.null),
    )
    container = _with_null(container_of(found, values), found.words.get("null"), notation.null)
    empty = inner({} if keyed else [])
    around = found.repetition.prefix + found.repetition.suffix
    container = replace(
        container,
        open=found.repetition.prefix,
        close=found.repetition.suffix,
        empty=around if empty is None else empty,
    )
    order = order_of(inner, deeper, container, values, found.swapped)
    return replace(container, order=order)


def inside_entry(
    text: str, entries: Entries, row: Row, member: Member, kind: JsonType
) -> str | None:
    """Give the text of the value in a container's only entry."""
    from .entries import match_row

    head, tail = entries.repetition.prefix, entries.repetition.suffix
    if not text.startswith(head) or not text.endswith(tail):
        return None
    entry = text[len(head) : len(text) - len(tail)]
    return match_row(row, entry, member.sentinels.typed_keys[kind] if member.keyed else None)


def _string_text(site: Site, member: Member, entries: Entries) -> Text | None:
    """Learn quotes and escapes of the strings in a container."""
    marks = member.sentinels
    row = entries.rows[JsonType.STRING]
    if row is None:
        return None
    at = row.index(Slot.VALUE)
    before = row[at - 1] if at and not isinstance(row[at - 1], Slot) else ""
    after = row[at + 1] if at + 1 < len(row) and not isinstance(row[at + 1], Slot) else ""
    other = entries.rows.get(JsonType.INTEGER)
    opening, close = _quotes(row, other)

    def written(value: str) -> str | None:
        text = site(member.one(value))
        if text is None:
            return None
        bare = tuple(
            _cut(str(piece), opening, close, position, at)
            if not isinstance(piece, Slot)
            else piece
            for position, piece in enumerate(row)
        )
        return inside_entry(text, entries, bare, member, JsonType.STRING)

    del before, after
    text = written(hostile_string(marks.values[0]))
    if text is None:
        return None
    quotes = [(opening, close)]
    if opening or close:
        quotes.append(("", ""))
    return learn_text(text, marks.values[0], quotes, written)


def _cut(literal: str, opening: str, close: str, position: int, at: int) -> str:
    if position == at - 1 and opening:
        return literal.removesuffix(opening)
    if position == at + 1 and close:
        return literal.removeprefix(close)
    return literal


def _quotes(row: Row, other: Row | None) -> tuple[str, str]:
    """Say which part of a string's surroundings an integer does not have."""
    if other is None or row == other:
        return "", ""
    before, after = _around(row)
    plain_before, plain_after = _around(other)
    if before.startswith(plain_before) and after.endswith(plain_after):
        opening = before[len(plain_before) :]
        close = after[: len(after) - len(plain_after)]
        shapes = [
            tuple(piece for piece in each if isinstance(piece, Slot)) for each in (row, other)
        ]
        if shapes[0] == shapes[1]:
            return opening, close
    return "", ""


def _around(row: Row) -> tuple[str, str]:
    at = row.index(Slot.VALUE)
    before = row[at - 1] if at and not isinstance(row[at - 1], Slot) else ""
    after = row[at + 1] if at + 1 < len(row) and not isinstance(row[at + 1], Slot) else ""
    return str(before), str(after)


def order_of(
    site: Callable[[Json], str | None],
    member: Member,
    container: Container,
    values: Notation,
    swapped: bool,
) -> Order:
    """Say in which order members are written."""
    if not swapped or not member.keyed:
        return Order.GIVEN
    marks = member.sentinels
    mixed: dict[str, Json] = {
        marks.keys[0]: marks.values[0],
        "B" + marks.keys[1]: marks.values[1],
        "a" + marks.keys[1]: marks.values[2],
    }
    text = site(mixed)
    if text is not None and text.find("B" + marks.keys[1]) > text.find("a" + marks.keys[1]):
        return Order.SORTED_FOLDED
    return Order.SORTED


def _with_null(container: Container, word: str | None, usual: str) -> Container:
    """Let a container write null in its own word where that is not the usual one."""
    row = container.row(JsonType.NULL)
    if word is None or word == usual or row is None:
        return container
    own = tuple(word if piece is Slot.VALUE else piece for piece in row)
    return replace(container, typed={**container.typed, JsonType.NULL: own})
