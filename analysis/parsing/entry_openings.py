"""Split entries of arguments into literals, decode values made of elements, and take literals.

An `EntryRow` has the literals of an entry and the types of the values that it is for. The functions
at the end take or test literals on a tape and accept other whitespace around them.
"""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import ContainerNotation, Row, RowSlot, ValueNotation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.schema_parts import SchemaPart

from .text_lookahead import TextLookahead
from .text_tape import Reading, SpanKind, TextTape
from .value_decoding import UnreadableValueError, decode_typed


class EntryRow:
    """The literals of an entry: before its key, between key and value, after the value."""

    def __init__(self, row: Row) -> None:
        """Split a row at its key and value."""
        self.before, self.middle, self.after, self.end = "", "", "", ""
        self.keyed_close = False
        place = "before"
        for piece in row:
            if piece is RowSlot.KEY and place == "after":
                self.keyed_close, place = True, "end"
            elif piece is RowSlot.KEY:
                place = "middle"
            elif piece is RowSlot.VALUE:
                place = "after"
            else:
                setattr(self, place, getattr(self, place) + str(piece))
        self.kinds: set[JsonType] = set()
        self.quote = ""
        """The quote that the template writes around values of every type, where a model writes the
        value without it: as a literal of its own."""


def openings_of(rows: Sequence[EntryRow]) -> tuple[TemplateLiteral, ...]:
    """Return the distinct openings of entries."""
    return tuple(dict.fromkeys(TemplateLiteral.of(row.before) for row in rows))


def entry_rows(arguments: ArgumentFormat) -> list[EntryRow]:
    """Return the rows that differ, with the types that each is for."""
    members = arguments.members
    known: dict[Row, EntryRow] = {}
    for kind in JsonType:
        row = members.row(kind)
        if row is not None:
            known.setdefault(row, EntryRow(row)).kinds.add(kind)
    return list(known.values())


def key_closers(arguments: ArgumentFormat) -> tuple[str, ...]:
    """Return what may stand right behind a key, where a marker opens the keys and comes first."""
    if arguments.members.open.strip():
        return ()
    rows = [row for row in entry_rows(arguments) if TemplateLiteral.of(row.before).is_marked]
    return tuple(
        dict.fromkeys(TemplateLiteral.of(row.middle).units[0] for row in rows if row.middle.strip())
    )


def without_quotes(rows: Sequence[EntryRow]) -> list[EntryRow]:
    """Return the rows without the quotes that all their values stand between; else none.

    `days="{{ days }}"` is also written `days=3`, and `city="{{ city }}"` also `city='Oslo'`.
    """
    quotes = {(row.middle[-1:], row.after[:1]) for row in rows}
    if len(quotes) != 1 or not quotes <= {('"', '"'), ("'", "'")}:
        return []
    bare: list[EntryRow] = []
    for row in rows:
        other = EntryRow(())
        other.before, other.middle, other.after = row.before, row.middle[:-1], row.after[1:]
        other.quote = row.middle[-1]
        other.kinds = row.kinds
        bare.append(other)
    return bare


# Values whose members are elements, without a text around all of them.


def read_elements(text: str, notation: ValueNotation, schema: SchemaPart) -> Json:
    """Read an array or object that is only its members in a row; raises Unreadable otherwise."""
    for container, keyed in ((notation.array, False), (notation.object, True)):
        if container.open.strip() or container.close.strip():
            continue
        row = EntryRow(container.entry)
        if not row.before.strip() or not row.after.strip():
            continue
        try:
            return _Members(text, row, container, notation, schema).read(keyed=keyed)
        except UnreadableValueError:
            continue
    raise UnreadableValueError


def nested_opening(notation: ValueNotation, row: EntryRow, key: str) -> str:
    """Return what opens an element in a value that is closed as the value's own entry is.

    Of an entry `<a>…</a>` that is `<a>`; empty where nothing in the value is closed so.
    """
    for container, keyed in ((notation.array, False), (notation.object, True)):
        if container.open.strip() or container.close.strip():
            continue
        inner = EntryRow(container.entry)
        opens, closes = inner.before, inner.after
        if keyed:
            opens += key + inner.middle
            closes += key + inner.end if inner.keyed_close else ""
        end = key + row.end if row.keyed_close else ""
        # Entries may share what stands between two of them with their neighbours.
        begins = opens.endswith(f"{row.before}{key}{row.middle}")
        if begins and closes.strip() and f"{row.after}{end}".startswith(closes):
            return opens.strip()
    return ""


class _Members:
    """Reads the members of one container from all of a text."""

    def __init__(
        self,
        text: str,
        row: EntryRow,
        container: ContainerNotation,
        outer: ValueNotation,
        schema: SchemaPart,
    ) -> None:
        self.text, self.row, self.at = text, row, 0
        self.notation, self.key = container.values or outer, container.key
        self.schema = schema

    def read(self, *, keyed: bool) -> Json:
        members: dict[str, Json] = {}
        repeated: dict[str, list[Json]] = {}
        """What elements of one name hold, where the schema does not say what the member is."""
        items: list[Json] = []
        self._space()
        while self.at < len(self.text):
            self._take(self.row.before)
            if keyed:
                key = self._key()
                name = self.key.read(key)
                schema = self.schema.member(name)
                value = self._value(self._opened(key), self._closed(key), schema)
                if name in members and name not in self.schema.names:
                    repeated.setdefault(name, [members[name]]).append(value)
                members[name] = value
            else:
                schema = self.schema.item(len(items))
                items.append(self._value(self.row.before, self.row.after, schema))
            self._space()
        if not members and not items:
            raise UnreadableValueError
        return {**members, **repeated} if keyed else items

    def _opened(self, key: str) -> str:
        return f"{self.row.before}{key}{self.row.middle}"

    def _closed(self, key: str) -> str:
        return f"{self.row.after}{key}{self.row.end}" if self.row.keyed_close else self.row.after

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _take(self, wanted: str) -> None:
        wanted = wanted.strip()
        if not self.text.startswith(wanted, self.at):
            raise UnreadableValueError
        self.at += len(wanted)

    def _key(self) -> str:
        middle = self.row.middle.strip()
        end = self.text.find(middle, self.at) if middle else -1
        key = self.text[self.at : end]
        if end < 0 or not key or any(char.isspace() for char in key):
            raise UnreadableValueError
        self.at = end + len(middle)
        return key

    def _value(self, opens: str, closes: str, schema: SchemaPart) -> Json:
        """Read a member's value up to the closer that belongs to it, and take the closer."""
        opens, closes = opens.strip(), closes.strip()
        begun, depth, at = self.at, 1, self.at
        while depth:
            close = self.text.find(closes, at)
            if close < 0:
                raise UnreadableValueError
            inner = self.text.find(opens, at, close)
            depth += 1 if inner >= 0 else -1
            at = (inner + len(opens)) if inner >= 0 else (close + len(closes))
        self.at = at
        return _value_of(self.text[begun : at - len(closes)], self.notation, schema)


def _value_of(text: str, notation: ValueNotation, schema: SchemaPart) -> Json:
    types = schema.kinds
    if types == frozenset({"string"}):
        return notation.string.read(text)
    if not text.strip() and types is not None:
        if "array" in types:
            return []
        if "object" in types:
            return {}
    try:
        return read_elements(text, notation, schema)
    except UnreadableValueError:
        value = decode_typed(text, types, notation)
        return notation.string.read(value) if isinstance(value, str) else value


# Literals on the tape, with other whitespace around them.


def skip_space(tape: TextTape, kind: SpanKind = SpanKind.MARKUP) -> Reading[None]:
    """Take all whitespace from the front."""
    while True:
        text, at = tape.text, tape.at
        end = at
        while end < len(text) and text[end].isspace():
            end += 1
        tape.take(end - at, kind)
        if end < len(text) or tape.closed:
            return
        yield


def skip_written(tape: TextTape, space: str) -> Reading[str]:
    """Take the whitespace that the template writes here, as far as it is there; return it."""
    for at, char in enumerate(space):
        if not (yield from tape.wait(1)) or tape.text[tape.at] != char:
            return space[:at]
        tape.take(1, SpanKind.MARKUP)
    return space


def at_text(tape: TextTape, wanted: str) -> Reading[bool]:
    """Return whether the text at the front is `wanted`; take no text."""
    while True:
        text, at = tape.text, tape.at
        there = len(text) - at
        if there >= len(wanted):
            return text.startswith(wanted, at)
        if not wanted.startswith(text[at:]):
            return False
        if tape.closed:
            tape.fell_short()
            return False
        yield


def behind_space(tape: TextTape, wanted: str) -> Reading[bool]:
    """Return whether `wanted` comes next, whitespace aside; take no text."""
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    there = yield from ahead.text(wanted)
    if ahead.short:
        tape.fell_short()
    return there


def behind_space_any(tape: TextTape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Return the longest of the texts that comes next, whitespace aside; take no text."""
    if not wanted:
        return None
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    return (yield from ahead.among(wanted))


def at_any(tape: TextTape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Return the longest of the texts that is at the front, or None; take no text."""
    for text in sorted(wanted, key=len, reverse=True):
        if text and (yield from at_text(tape, text)):
            return text
    return None


def read_literal(tape: TextTape, literal: TemplateLiteral) -> Reading[bool]:
    """Take a literal with any whitespace between its units and at its edges.

    Returns False if a unit of it is missing; the units before that were taken.
    """
    if not literal.core:
        yield from skip_written(tape, literal.before)
        return True
    for unit in literal.units:
        yield from skip_space(tape)
        if not (yield from at_text(tape, unit)):
            return False
        tape.take(len(unit), SpanKind.MARKUP)
    yield from skip_written(tape, literal.after)
    return True
