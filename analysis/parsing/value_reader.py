"""Read the value of one argument up to its end, and emit it as JSON after its key.

`ValueReader` chooses by notation, row and type: quoted strings and their containers are copied by
`read_json`, raw text is read up to its closer by `RawReader`, and a value without a closer ends by
its own brackets and quotes (`BracketScan`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring

from autoparser.analysis.core.call_notation import python_notation
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.text_format import StringEscape, StringText

from .json_text import BracketScan, LiteralScan, ReadOutcome, read_json, string_quotes
from .raw_text import ArgumentsAround, RawReader, json_of
from .text_lookahead import (
    at_any,
    at_text,
    behind_space,
    read_literal,
    skip_space,
    take_text,
)
from .text_tape import Reading, SpanKind
from .value_decoding import (
    EntryRow,
    decode_value,
    is_value,
    nested_opening,
)

_STRING = frozenset({"string"})
_CONTAINERS = frozenset({"array", "object"})
_ANY = frozenset({"null", "boolean", "integer", "number", "array", "object", "string"})


class ValueReader(ArgumentsAround):
    """Reads the values of one call's arguments."""

    _lead = ""
    """The key with its JSON punctuation; it is emitted only with its value."""

    def read(self, name: str, key: str, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read a value and its closer; return the outcome if the arguments cannot go on, or None.

        `key` is the name as it is written.
        """
        self._lead = (", " if self.seen_keys else "") + encode_basestring(name) + ": "
        outcome = yield from self._value(name, key, row)
        if outcome is ReadOutcome.CUT and self._lead:
            self.emit("")
        return outcome

    def emit(self, text: str) -> None:
        """Emit a piece of the value, with the key before the first piece."""
        if self._lead:
            text = self._lead + text
            self._lead = ""
        self.emit_json(text)

    def _value(self, name: str, key: str, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read a value and its closer by its row and its type."""
        self.seen_keys.add(name)
        schema = self.schema.member(name)
        types: frozenset[str] | None = schema.kinds
        if len(self.rows) > 1:
            flagged = row.kinds
            types = _STRING if flagged == {JsonType.STRING} else frozenset(map(str, flagged))
        text = self.arguments.values.string
        quote = text.open.strip()
        if row.quote or (not quote and not row.after.strip() and (yield from self._at_literal())):
            return (yield from self._open_value(row, schema, types, literal=True))
        if text.escape is StringEscape.PYTHON or (
            quote in ('"', "'")
            and text.escape is not StringEscape.VERBATIM
            and not _escapes_by_doubling(text)
        ):
            return (yield from self._quoted_value(row))
        if quote:
            if (yield from take_text(self.tape, quote)):
                return (yield from self._raw_value(key, row, schema, _STRING, quoted=True))
            types = (types or _ANY) - _STRING
        if not row.after.strip() and types != _STRING:
            return (yield from self._open_value(row, schema, types))
        return (yield from self._raw_value(key, row, schema, types, quoted=False))

    def _at_literal(self) -> Reading[bool]:
        """Whether a string begins as the notation writes those in arrays and objects, and ends so.

        Of a text that only begins with a quote, the quote is a part.
        """
        quotes, _ = string_quotes(self.arguments.values)
        opening = (yield from at_any(self.tape, tuple(quotes))) if quotes else None
        if opening is None:
            return False
        marks = tuple(self.separator.text + each.text for each in self.openings if each.core)
        scan = LiteralScan(opening, quotes[opening], self._ends(), marks)
        while (
            found := scan.is_whole(self.tape.text, self.tape.at, closed=self.tape.closed)
        ) is None:
            yield
        return found

    def _ends(self) -> tuple[str, ...]:
        """Return the texts that end a value without a closer."""
        opens = [] if self.separator.core else [opening.core for opening in self.openings]
        opens += self._next_keys()
        return tuple(text for text in (self.separator.core, *opens, *self.stops) if text)

    def _next_keys(self) -> Iterator[str]:
        """Return the keys of the next entry, up to its value, where nothing stands before them."""
        if self.separator.core or any(opening.core for opening in self.openings):
            return
        key = self.arguments.members.key
        for middle in {TemplateLiteral.of(row.middle).core for row in self.rows} - {""}:
            yield from (key.write(name) + middle for name in self.schema.names - self.seen_keys)

    def _quoted_value(self, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read a value of a notation that quotes strings as JSON or Python does."""
        lead, self._lead = self._lead, ""
        stops = (*self._followers(row), *self.stops)
        outcome = yield from read_json(self.tape, self.emit_json, stops, lead)
        if outcome in (ReadOutcome.BAD, ReadOutcome.CUT):
            return outcome
        self.repaired = self.repaired or outcome is ReadOutcome.REPAIRED
        return (yield from self._take_closer(row))

    def _followers(self, row: EntryRow) -> Iterator[str]:
        close = TemplateLiteral.of(row.after)
        if close.core:
            yield close.core
        if self.separator.core:
            yield self.separator.core
        yield from (opening.units[0] for opening in self.openings if opening.core)
        yield from self._next_keys()

    def _raw_value(
        self,
        key: str,
        row: EntryRow,
        schema: SchemaPart,
        types: frozenset[str] | None,
        *,
        quoted: bool,
    ) -> Reading[ReadOutcome | None]:
        """Read the raw text of a value up to its closer."""
        string = self.arguments.values.string
        after = TemplateLiteral.of((string.close if quoted else "") + row.after)
        streams = (
            types == _STRING and string.escape is StringEscape.VERBATIM and string.guard is None
        )
        if streams:
            self.emit('"')
        escapes = string.escapes if quoted else ()
        holds = not quoted and (types is None or bool(types & _CONTAINERS))
        reader = RawReader(
            self,
            key,
            after,
            self.emit_json if streams else None,
            escapes,
            quoted=quoted,
            nested=nested_opening(self.arguments.values, row, key) if holds else "",
        )
        ended = yield from reader.read()
        if ended is ReadOutcome.CUT:
            return ReadOutcome.CUT
        text = "".join(reader.pieces)
        values = self.arguments.values
        self.emit('"' if streams else json_of(text, schema, types, values, quoted=quoted))
        if ended is ReadOutcome.REPAIRED:
            self.repaired = True
            # Where no other closer came, it may be one after all.
            if not after.core or not (yield from at_text(self.tape, after.units[0])):
                return None
        yield from self._take_units(after.units)
        return (yield from self._take_key(key, row))

    def _open_value(
        self,
        row: EntryRow,
        schema: SchemaPart,
        types: frozenset[str] | None,
        *,
        literal: bool = False,
    ) -> Reading[ReadOutcome | None]:
        """Read a value that nothing closes but what follows it: by its own brackets and quotes.

        A `literal` is what it says, whatever its type should be.
        """
        tape = self.tape
        ends = self._ends()
        notation = python_notation() if row.quote else self.arguments.values
        scan = BracketScan(notation, literal=literal)
        while (size := scan.end_of(tape.text, tape.at, ends, closed=tape.closed)) is None:
            if tape.closed:
                break
            yield
        if scan.passed is not None and (tape.complete or size) and self._may_be_text(types):
            # What does not become whole is a text that begins like an array or object.
            front = tape.text[tape.at : tape.at + (size or 0)].strip()
            size = size if size and is_value(front, self.arguments.values) else scan.passed
        if size is None:
            return self._at_end(schema, types, ends)
        text = tape.take(size, SpanKind.ARGUMENTS).strip()
        if literal and is_value(text, python_notation()):
            value = decode_value(text, python_notation())
            self.emit(json.dumps(value, ensure_ascii=False))
        else:
            self.emit(json_of(text, schema, types, self.arguments.values, quoted=False))
        return (yield from self._take_closer(row))

    def _may_be_text(self, types: frozenset[str] | None) -> bool:
        """Whether a value of these types may be a text that nothing encloses."""
        return (
            types is None or "string" in types
        ) and not self.arguments.values.string.open.strip()

    def _at_end(
        self, schema: SchemaPart, types: frozenset[str] | None, ends: Sequence[str]
    ) -> ReadOutcome | None:
        """Take the value that the end of the text closes, if it is whole."""
        tape = self.tape
        rest = tape.text[tape.at :]
        # What is there of a closer whose end is missing is not part of the value.
        begun = (size for end in ends for size in range(1, len(end)) if rest.endswith(end[:size]))
        text = tape.take(len(rest) - max(begun, default=0), SpanKind.ARGUMENTS).strip()
        if not tape.complete or not is_value(text, self.arguments.values):
            return ReadOutcome.CUT
        tape.take(tape.left(), SpanKind.MARKUP)
        self.emit(json_of(text, schema, types, self.arguments.values, quoted=False))
        self.repaired = True
        return None

    def _take_closer(self, row: EntryRow) -> Reading[ReadOutcome | None]:
        for other in (row, *self.rows):
            after = TemplateLiteral.of(other.after)
            if after.core and (yield from behind_space(self.tape, after.units[0])):
                yield from read_literal(self.tape, after)
                break
            if after.core and self.tape.cut and not self.tape.complete:
                return ReadOutcome.CUT
        return None

    def _take_key(self, key: str, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Take the key and the text after it if the entry ends with its key."""
        if not row.keyed_close:
            return None
        yield from self._take_units((key, *TemplateLiteral.of(row.end).units))
        return None

    def _take_units(self, units: Sequence[str]) -> Reading[None]:
        """Take those of the texts that are there, in order, and all whitespace."""
        for unit in units:
            yield from skip_space(self.tape)
            yield from take_text(self.tape, unit)


def _escapes_by_doubling(text: StringText) -> bool:
    """Return whether a quote in a string is escaped without a backslash, such as doubled."""
    return bool(text.escapes) and not any("\\" in written for written in text.escapes)
