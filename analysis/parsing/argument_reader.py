"""Read a call's arguments in the notation of the format, and emit them as one JSON object.

`read_arguments` chooses a reader: JSON is copied by `read_json`, a string of JSON is decoded first,
and arguments written one by one are read by `EntryReader`:

    <a=city>Oslo</a><a=days>3</a>  ->  {"city": "Oslo", "days": 3}

It leaves each value to `ValueReader`, which chooses by notation, row and type: quoted strings and
their containers are copied by `read_json`, raw text is read up to its closer by `RawReader`, and a
value without a closer ends by its own brackets and quotes (`BracketScan`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from json.encoder import encode_basestring

from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import ValueNotation, python_notation
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import TemplateLiteral, is_unit
from autoparser.lazy_names import lazy_pattern

from .json_text import (
    BracketScan,
    Emit,
    LiteralScan,
    ReadOutcome,
    ends_in_number,
    ignore,
    in_json,
    read_json,
    string_quotes,
)
from .raw_text import (
    LONGEST_WORD,
    ArgumentsAround,
    ArgumentTexts,
    RawReader,
    begun_stops,
    raw_value_json,
)
from .text_lookahead import (
    GoesOn,
    TextLookahead,
    at_any,
    at_text,
    behind_space,
    read_literal,
    skip_space,
    skip_written,
    take_row,
    take_text,
    wanted_stops,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import IdentityCache
from .value_decoding import (
    ANY_KIND,
    STRING_ONLY,
    EntryRow,
    UnreadableValueError,
    ValueDecoder,
    begins_as_elements,
    decode_json,
    decode_typed,
    decode_value,
    is_huge,
    is_value,
    nested_opening,
    python_text,
    repeats_key,
    without_quotes,
)

# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_BAD, _CUT = ReadOutcome.BAD, ReadOutcome.CUT
_COMPLETE, _REPAIRED = ReadOutcome.COMPLETE, ReadOutcome.REPAIRED
_PYTHON, _VERBATIM = StringEscape.PYTHON, StringEscape.VERBATIM
_MARKUP, _ARGUMENTS = SpanKind.MARKUP, SpanKind.ARGUMENTS

# The value of one argument, up to its end, as JSON after its key.


_CONTAINERS = frozenset({"array", "object"})


class ValueReader(ArgumentsAround):
    """Reads the values of one call's arguments."""

    _lead = ""
    """The key with its JSON punctuation; it is emitted only with its value."""
    exact = False
    """Whether strings are read as the template writes them, even if they look escaped."""
    wide = False
    """Whether a line break of Windows leads to the value, as then to its closer."""

    def read(self, name: str, key: str, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read a value and its closer; return the outcome if the arguments cannot go on, or None.

        `key` is the name as it is written.
        """
        self._lead = (", " if self.seen_keys else "") + encode_basestring(name) + ": "
        outcome = yield from self._value(name, key, row)
        if outcome is _CUT and self._lead:
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
        self.repaired = self.repaired or name in self.seen_keys
        self.seen_keys.add(name)
        schema = self.schema.member(name)
        types: frozenset[str] | None = schema.kinds
        if len(self.rows) > 1:
            flagged = row.kinds
            types = STRING_ONLY if flagged == {JsonType.STRING} else frozenset(map(str, flagged))
        text = self.arguments.values.string
        quote = text.open.strip()
        # A sign between entries may stand in a string, so a model puts such a string in quotes.
        # Where the template quotes none and no sign ends a value, quotes are text.
        own = text.escape is _PYTHON
        may_quote = not quote and not row.after.strip() and (own or self.separator.core)
        if row.quote or (may_quote and (yield from self._at_literal())):
            self.repaired = self.repaired or not (own or row.quote)
            return (yield from self._open_value(row, schema, types, literal=True))
        if text.escape is _PYTHON or (
            quote in ('"', "'") and text.escape is not _VERBATIM and not _escapes_by_doubling(text)
        ):
            return (yield from self._quoted_value(row))
        if quote:
            if (yield from take_text(self.tape, quote)):
                return (yield from self._raw_value(key, row, schema, STRING_ONLY, quoted=True))
            # A string would have its quote here, so the value has another type.
            types = (types or ANY_KIND) - STRING_ONLY
        # Only a reader that looks ahead finds the end before an entry without a marker.
        by_entry = not quote and bool(self.texts.leads)
        if not row.after.strip() and types != STRING_ONLY and not by_entry:
            return (yield from self._open_value(row, schema, types))
        return (yield from self._raw_value(key, row, schema, types, quoted=False))

    def _at_literal(self) -> Reading[bool]:
        """Return whether a string is quoted here as the notation quotes those in containers.

        If a text only begins with a quote, the quote is part of it.
        """
        quotes, _ = string_quotes(self.arguments.values)
        opening = (yield from at_any(self.tape, tuple(quotes))) if quotes else None
        if opening is None:
            return False
        marks = tuple(
            self.separator.text + opening.text for opening in self.openings if opening.core
        )
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
        """Return the keys of the next entry, up to its value, if no text comes before keys."""
        if self.separator.core or any(opening.core for opening in self.openings):
            return
        key = self.arguments.members.key
        ends = [end.removeprefix(key.close) for end in self.texts.key_signs]
        for name in self.schema.names - self.seen_keys:
            yield from (key.write(name) + end for end in ends)

    def _quoted_value(self, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read a value of a notation that quotes strings as JSON or Python does."""
        # `read_json` emits the key itself, once the value begins.
        lead, self._lead = self._lead, ""
        stops = (*self._followers(row), *self.stops)
        python = _escapes_as_python(self.arguments)
        outcome = yield from read_json(self.tape, self.emit_json, stops, lead, python=python)
        if outcome in (_BAD, _CUT):
            return outcome
        self.repaired = self.repaired or outcome is _REPAIRED
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
        if self.wide and not quoted:
            after = replace(after, before=after.before.replace("\n", "\r\n"))
        # Only text that is passed on as it comes needs no look at the whole.
        streams = types == STRING_ONLY and string.escape is _VERBATIM and string.guard is None
        if streams:
            self.emit('"')
        escapes = string.escapes if quoted else ()
        backslashed = quoted and not self.exact and _is_backslashed(string)
        holds = not quoted and (types is None or bool(types & _CONTAINERS))
        reader = RawReader(
            self,
            key,
            after,
            self.emit_json if streams else None,
            escapes,
            quoted=quoted,
            backslashed=backslashed,
            may_be_text=types is None or "string" in types,
            nested=nested_opening(self.arguments.values, row, key) if holds else "",
        )
        ended = yield from reader.read()
        if ended is _CUT:
            return _CUT
        self.repaired = self.repaired or (
            self.wide and self.tape.text.startswith("\r", self.tape.at)
        )
        text = "".join(reader.pieces)
        if backslashed and (unescaped := python_text(text, string.open.strip())) is not None:
            # The template escapes nothing, and a model that does escape uses Python's escapes.
            text, self.repaired = unescaped, True
        if streams:
            self.emit(in_json(text) + '"')
        else:
            self.emit(self._raw_json(text, schema, types, holds=holds, quoted=quoted))
        if ended is _REPAIRED:
            self.repaired = True
            # If no other closer followed, this may be the closer after all.
            if not after.core or not (yield from behind_space(self.tape, after.units[0])):
                return None
        units = after.units
        if row.keyed_close:
            units = (*units, key, *TemplateLiteral.of(row.end).units)
        # Take those of them that occur here, in order, and all whitespace.
        for unit in () if take_row(self.tape, units) else units:
            yield from skip_space(self.tape)
            there = yield from take_text(self.tape, unit)
            self.repaired = self.repaired or not there
        return None

    def _raw_json(
        self,
        text: str,
        schema: SchemaPart,
        types: frozenset[str] | None,
        *,
        holds: bool,
        quoted: bool,
    ) -> str:
        """Decode the raw text of a value that may be of other types than string."""
        values = self.arguments.values
        value = raw_value_json(text, schema, types, values, quoted=quoted)
        is_string = value.json[0] == '"'
        # Its elements cannot be read, so that their markup is left in a string.
        guessed = holds and is_string and begins_as_elements(text, values)
        if is_string and "string" not in (types or STRING_ONLY):
            # The entry states that its value is not a string, e.g. with `string="false"`, or a
            # closer that is misspelled did not end it before other markup.
            marked = len(self.rows) > 1 or any(mark in text for mark in self.texts.marks)
            guessed = guessed or marked
        self.repaired = self.repaired or guessed or not value.own
        return value.json

    def _open_value(
        self,
        row: EntryRow,
        schema: SchemaPart,
        types: frozenset[str] | None,
        *,
        literal: bool = False,
    ) -> Reading[ReadOutcome | None]:
        """Read a value without a closer: it ends by its own brackets and quotes.

        A `literal` keeps its value, whatever its type should be.
        """
        tape, names = self.tape, schema.document.signed_names
        ends = self._ends()
        notation = python_notation() if row.quote else self.arguments.values
        scan = BracketScan(notation, ends, literal=literal, foreign=_quotes_by_marker(notation))
        while (size := scan.end_of(tape.text, tape.at, closed=tape.closed)) is None:
            if tape.closed:
                break
            yield
        if scan.passed is not None and (tape.complete or size) and self._may_be_text(types):
            # An incomplete value is a text that begins like an array or object.
            front = tape.text[tape.at : tape.at + (size or 0)].strip()
            size = size if size and is_value(front, self.arguments.values, names) else scan.passed
        if size is None:
            # Without its closing quote, the text is not a value.
            if tape.complete and scan.in_foreign_quote:
                return _BAD
            return self._at_end(schema, types, ends, literal=literal)
        text = tape.take(size, _ARGUMENTS).strip()
        if not (literal and self._emit_literal(text)):
            own = True
            if self.arguments.values.string.open.strip() and not row.quote:
                # The template quotes every string, so other text is not in the template's form.
                if not is_value(text, self.arguments.values, names) and _FOREIGN.search(text):
                    return _BAD
                own = _is_own(text, self.arguments.values, names)
            read = raw_value_json(text, schema, types, self.arguments.values, quoted=False)
            self.repaired = self.repaired or not (own and read.own)
            self.emit(read.json)
        return (yield from self._take_closer(row))

    def _emit_literal(self, text: str) -> bool:
        """Emit a value of Python as JSON; return False if it is not one."""
        python = python_notation()
        if not is_value(text, python):
            return False
        self.emit(json.dumps(decode_value(text, python), ensure_ascii=False))
        return True

    def _may_be_text(self, types: frozenset[str] | None) -> bool:
        """Return whether a value of these types may be a text without quotes."""
        return (
            types is None or "string" in types
        ) and not self.arguments.values.string.open.strip()

    def _at_end(
        self,
        schema: SchemaPart,
        types: frozenset[str] | None,
        ends: Sequence[str],
        *,
        literal: bool,
    ) -> ReadOutcome | None:
        """Take the value that the end of the text closes, if it is whole."""
        tape = self.tape
        rest = tape.text[tape.at :]
        # The beginning of a truncated closer is not part of the value.
        begun = (size for end in ends for size in range(1, len(end)) if rest.endswith(end[:size]))
        text = tape.take(len(rest) - max(begun, default=0), _ARGUMENTS).strip()
        goes_on = ends_in_number(rest) and not tape.bounded
        names = schema.document.signed_names
        whole = not goes_on and is_value(text, self.arguments.values, names)
        if not (tape.complete and whole):
            return _CUT
        tape.take(tape.left(), _MARKUP)
        if not (literal and self._emit_literal(text)):
            self.emit(raw_value_json(text, schema, types, self.arguments.values, quoted=False).json)
        self.repaired = True
        return None

    def _take_closer(self, row: EntryRow) -> Reading[ReadOutcome | None]:
        # A model may close an entry as the template closes one of another type.
        for other in (row, *self.rows):
            after = TemplateLiteral.of(other.after)
            if after.core and (yield from behind_space(self.tape, after.units[0])):
                whole = yield from read_literal(self.tape, after)
                self.repaired = self.repaired or not whole
                return None
            if after.core and self.tape.cut and not self.tape.complete:
                return _CUT
        self.repaired = self.repaired or bool(row.after.strip())
        return None


def _escapes_as_python(arguments: ArgumentFormat) -> bool:
    """Return whether strings have the escapes of Python."""
    return arguments.values.string.escape is _PYTHON


def _is_backslashed(text: StringText) -> bool:
    """Return whether strings have the quotes of Python, and the template escapes nothing."""
    return text.escape is _VERBATIM and text.open.strip() in ("'", '"')


def _quotes_by_marker(notation: ValueNotation) -> bool:
    """Return whether strings have markers in place of quotes, so that quotes are foreign."""
    return len(notation.string.open.strip()) > 1


def _is_own(text: str, notation: ValueNotation, names: Sequence[str]) -> bool:
    """Return whether a text without the quotes of the notation is a value of it.

    `{city:Oslo}` is not where strings are written `<q>Oslo<q>`, and neither is `{city:'Oslo'}`.
    """
    decoder = ValueDecoder(text, names)
    try:
        decoder.value(notation)
    except (UnreadableValueError, ValueError, RecursionError):
        return is_huge(text) or not isinstance(decode_typed(text, None, notation), str)
    return decoder.end() and not decoder.foreign


_FOREIGN = lazy_pattern("[\"'(){}\\[\\]]")
"""Signs that do not belong in a text without quotes."""


def _escapes_by_doubling(text: StringText) -> bool:
    """Return whether a quote in a string is escaped without a backslash, such as doubled."""
    return bool(text.escapes) and not any("\\" in written for written in text.escapes)


# Arguments that are written one by one.


class EntryReader:
    """Reads arguments that are written one by one."""

    def __init__(self, values: ValueReader, emit: Emit) -> None:
        self.values, self.emit, self.tape = values, emit, values.tape
        self.key = values.arguments.members.key
        self.count = 0
        self.separated = False
        """Whether a separator came since the last value."""

    @property
    def middles(self) -> dict[str, _Middles]:
        """The texts between key and value by the opening of the entry."""
        texts = self.values.texts
        return _MIDDLES.of((texts,), None, lambda: _middles_of(texts))

    def read(self) -> Reading[ReadOutcome]:
        """Read entries up to one of the stops."""
        tape, texts, prefix = self.tape, self.values.texts, self.values.texts.begun_head
        self.emit("{")
        while True:
            key = self._take_head()
            if key is not None:
                if (yield from self._takes_written(key)):
                    continue
                outcome = yield from self.values.read(key, key, self.values.rows[0])
            else:
                yield from skip_space(tape)
                if tape.text.startswith(texts.sure_stops, tape.at):
                    return self._end()
                if not tape.left():
                    needed = self.values.schema.required - self.values.seen_keys
                    whole = tape.bounded or not (needed or self.separated)
                    if not (tape.complete and self.count and whole):
                        return _CUT
                    self.emit("}")
                    return _REPAIRED
                if prefix.fullmatch(tape.text, tape.at) and not tape.closed:
                    tape.waits_within(prefix)
                    yield
                    continue
                outcome = yield from self._entry_or_end()
            if outcome is not None:
                return outcome

    def _take_head(self) -> str | None:
        """Take an entry up to its value if it is as the template writes it; return its key."""
        tape, head = self.tape, self.values.texts.entry_head
        match = None if head is None else head.match(tape.text, tape.at)
        if match is None or match[1] not in self.values.schema.names:
            return None
        tape.take_parts(((*match.span(1), _ARGUMENTS),), match.end())
        self.values.wide = False
        self.count += 1
        return match[1]

    def _takes_written(self, key: str) -> Reading[bool]:
        """Take a value of which nothing is passed on before its closer, if it is as written."""
        tape, values, written = self.tape, self.values, self.values.texts.written
        part, start = values.schema.member(key), tape.position
        if written is None or part.kinds == STRING_ONLY or key in values.seen_keys:
            return False
        if not tape.closed and written.may_come(tape.text, tape.at):
            tape.still = lambda: written.may_come(tape.text, start - tape.offset)
            yield
        ends = written.ends(tape.text, tape.at)
        found = None if ends is None else written.json(tape.text[tape.at : ends[0]], part)
        if ends is None or found is None:
            return False
        self.emit(f'{", " if values.seen_keys else ""}"{key}": {found}')
        values.seen_keys.add(key)
        tape.take_parts(((tape.at, ends[0], _ARGUMENTS),), ends[1])
        return True

    def _entry_or_end(self) -> Reading[ReadOutcome | None]:
        """Read an entry or a separator, or return how the arguments end here."""
        tape = self.tape
        separator = self.values.separator.core
        if separator and (yield from take_text(tape, separator)):
            self._separate(separated=True)
            return None
        stop = yield from at_any(tape, self.values.stops)
        opening = yield from self._opening()
        bare = opening is None and stop is None and (yield from self._begins_with_key())
        begun = tape.text[tape.at]
        is_sign = not begun.isalnum() and begun not in "_\"'"
        if stop is None and opening is None and not bare and is_sign:
            # Only the beginning of the call's closer is there.
            stop = yield from at_any(tape, begun_stops(self.values.stops))
        if stop is not None and (opening is None or len(stop) > len(opening.core)):
            return self._end()
        if opening is None and is_sign and self.count and (yield from self._skip_broken()):
            return None
        if opening is None and self.values.openings[0].core and not bare:
            return _CUT if tape.cut else _BAD
        return (yield from self._entry(opening or self.values.openings[0], bare=bare))

    def _skip_broken(self) -> Reading[bool]:
        """Take a broken closer behind a value if the call goes on, or ends, after it."""
        tape, texts = self.tape, self.values.texts
        while True:
            broken = texts.broken_closer.match(tape.text, tape.at)
            size = 0 if broken is None else broken.end() - tape.at
            if broken is None or size > LONGEST_WORD:
                return False
            if tape.closed or broken.end() < len(tape.text):
                break
            yield
        ahead = TextLookahead(tape, tape.position + size)
        # While it waits, the tape drops what was taken, so that offsets in its text change.
        yield from ahead.space()
        if (yield from ahead.among((*texts.stops, *filter(None, texts.begin)))) is None:
            return False
        tape.take(size, _MARKUP)
        self.values.repaired = True
        return True

    def _end(self) -> ReadOutcome:
        """End the arguments at a text that follows them."""
        self.emit("}")
        repaired = self.values.repaired or self.separated
        return _REPAIRED if repaired else _COMPLETE

    def _value(self, key: str, row: EntryRow) -> Reading[ReadOutcome | None]:
        """Read the value of a key, and its closer."""
        if self.values.separator.core:
            self._separate(separated=False)
        self.values.repaired = self.values.repaired or not self.key.has_written(key)
        self.count += 1
        return (yield from self.values.read(self.key.read(key), key, row))

    def _separate(self, *, separated: bool) -> None:
        """Note a separator, or a key; each one but the first comes behind one separator."""
        missing = separated is self.separated and (separated or bool(self.count))
        self.values.repaired = self.values.repaired or missing or (separated and not self.count)
        self.separated = separated

    def _opening(self) -> Reading[TemplateLiteral | None]:
        """Return the opening of an entry that comes next, or None."""
        if len(self.values.openings) > 1:
            whole = yield from at_any(
                self.tape, tuple(opening.core for opening in self.values.openings)
            )
            for opening in self.values.openings:
                if opening.core == whole:
                    return opening
        for opening in self.values.openings:
            if opening.core and (yield from at_text(self.tape, opening.units[0])):
                return opening
        return None

    def _begins_with_key(self) -> Reading[bool]:
        """Return whether a declared key comes right after the name without its opener."""
        opening = self.values.openings[0].core
        if self.count or not opening:
            return False
        return (yield from self._whole_key(self.values.schema.names, self.middles[opening])) != ""

    def _whole_key(self, names: Iterable[str], middles: _Middles) -> Reading[str]:
        """Return the longest of these keys that comes next, or "" if its end does not follow."""
        ahead = TextLookahead(self.tape, self.tape.position)
        key = yield from ahead.among(names)
        return key if key and (yield from ahead.among(middles.firsts)) else ""

    def _entry(self, opening: TemplateLiteral, *, bare: bool) -> Reading[ReadOutcome | None]:
        """Read an entry; the opener of a `bare` one is missing."""
        tape = self.tape
        middles = self.middles[opening.core]
        self.values.repaired = self.values.repaired or bare
        for unit in () if bare else opening.units:
            yield from skip_space(tape)
            if not (yield from take_text(tape, unit)):
                return _CUT if tape.cut else _BAD
        key = yield from self._key(opening, middles)
        if key is None:
            if not tape.closed or tape.left() >= LONGEST_KEY:
                return _BAD
            # A closer of the call may have come before the end of the text.
            ended = any(tape.text.find(stop, tape.at) >= 0 for stop in self.values.stops)
            return _BAD if ended else _CUT
        row = yield from self._middle(key, middles)
        if row is None:
            near = tape.closed and tape.left() < LONGEST_KEY
            return _CUT if near and middles.begin(tape.text[tape.at :]) else _BAD
        return (yield from self._value(key, row))

    def _skip_repeated(self, opening: TemplateLiteral, end: int) -> None:
        """Take a repeated opener of a key if a declared key comes after it, or any if none is."""
        tape = self.tape
        if not opening.core or tape.text.find(opening.core, tape.at, end) < 0:
            return
        repeats = re.compile(rf"(?:\s*{re.escape(opening.core)})+\s*")
        match = repeats.match(tape.text, tape.at, end)
        names, key = self.values.schema.names, match and tape.text[match.end() : end].strip()
        if match is not None and (key in names if names else key):
            tape.take(match.end() - tape.at, _MARKUP)
            self.values.repaired = True

    def _key(self, opening: TemplateLiteral, middles: _Middles) -> Reading[str | None]:
        """Read a key up to the text between it and its value, or return None."""
        tape = self.tape
        if middles.spaced:
            yield from skip_space(tape)
        while True:
            found = middles.ends.search(tape.text, tape.at, tape.at + LONGEST_KEY)
            if found is not None:
                self._skip_repeated(opening, found.start())
                # A declared key may contain the text that ends keys, as in `ns:key:5`.
                begun, size = tape.text[tape.at : found.end()], found.start() - tape.at
                longer = [name for name in self.values.schema.names if name.startswith(begun)]
                whole = (yield from self._whole_key(longer, middles)) if longer else ""
                key = tape.take(len(whole) or size, _ARGUMENTS).strip()
                if key in self.values.schema.names:
                    return key
                # Models also write names in quotes; a key with quotes inside is not a key.
                key = key.strip("\"'")
                lead = opening.core or self.values.separator.core
                last = key.rpartition(lead)[2].strip() if lead and lead in key else key
                # Nor is one that holds the next key: the text between two keys was misspelled.
                other = last != key and (opening.markers or last in self.values.schema.names)
                if other or _NO_KEY.search(key):
                    return None
                # Other signs around a declared key are of markup with a sign too many.
                bare = _EDGE_SIGNS.sub("", key)
                if bare not in self.values.schema.names or bare in self.values.seen_keys:
                    return key
                self.values.repaired = self.values.repaired or bare != key
                return bare
            if tape.closed or tape.left() >= LONGEST_KEY:
                return None
            tape.waits_for_any(middles.lasts, LONGEST_KEY)
            yield

    def _middle(self, key: str, middles: _Middles) -> Reading[EntryRow | None]:
        """Take the text between key and value; return the row that it belongs to, or None."""
        tape = self.tape
        lone = middles.lone
        while True:
            for pattern, row in middles.patterns:
                match = pattern.match(tape.text, tape.at)
                if match:
                    tape.take(match.end() - tape.at, _MARKUP)
                    space = yield from skip_written(tape, TemplateLiteral.of(row.middle).after)
                    self.values.wide = "\r" in space
                    return row
            if lone is not None:
                row, lone = lone, None
                if key in self.values.schema.names and (yield from self._patch_markers(row)):
                    self.values.repaired = True
                    return row
                continue
            if tape.closed or tape.left() > LONGEST_KEY:
                return None
            yield

    def _patch_markers(self, row: EntryRow) -> Reading[bool]:
        """Take the closer of a declared key and the opener of its value, one repeated or missing.

        Of `<key>K</key></key><value>V</value>` the second closer is left out. In `<key>K</key>V
        </value>` the value's own closer comes before any other marker of the call, and what may
        follow an entry after it.
        """
        tape = self.tape
        first, *others = TemplateLiteral.of(row.middle).units
        ahead = TextLookahead(tape, tape.position)
        count = 0
        while (yield from ahead.row((first,))):
            count += 1
        key_end = tape.offset + ahead.at
        if not count:
            return False
        if (yield from ahead.row(others)):
            tape.take(ahead.at - tape.at if count > 1 else 0, _MARKUP)
            return count > 1
        after = TemplateLiteral.of(row.after)
        begin = [*others, *(opening.units[0] for opening in self.values.openings if opening.core)]
        if count > 1 or not after.core or not (yield from self._closes(ahead, after, begin)):
            return False
        tape.take(key_end - tape.position, _MARKUP)
        return True

    def _closes(
        self, ahead: TextLookahead, after: TemplateLiteral, begin: Sequence[str]
    ) -> Reading[bool]:
        """Return whether a value's closer comes before other markers, and the entry ends there."""
        others = [text for text in (*begin, *self.values.stops) if text != after.core]
        ends = wanted_stops(after.core, tuple(others))
        found = yield from ahead.first_of(ends, LONGEST_KEY)
        if not found or not (yield from ahead.row(after.units)):
            return False
        yield from ahead.space()
        return (yield from ahead.ended()) or (yield from ahead.among(others)) is not None


def _middles_of(texts: ArgumentTexts) -> dict[str, _Middles]:
    """Return the texts between key and value by the opening of the entry."""
    known = [*texts.rows, *without_quotes(texts.rows)]
    return {
        core: _Middles([row for row in known if TemplateLiteral.of(row.before).core == core])
        for core in {opening.core for opening in texts.openings}
    }


_MIDDLES: IdentityCache[dict[str, _Middles]] = IdentityCache(256)
LONGEST_KEY = 4096
"""Characters within which a key, a name or an id has to end."""
_NO_KEY = lazy_pattern(r"[\"'\n{}()]|,\s|\[[\"'{]")
"""Any text that is not a declared key: the text before it is a value."""
_EDGE_SIGNS = lazy_pattern(r"^\W+|\W+$")


class _Middles:
    """The texts between key and value of entries that have the same opening."""

    def __init__(self, rows: Sequence[EntryRow]) -> None:
        literals = [TemplateLiteral.of(row.middle) for row in rows]
        self.spaced = any(not literal.core for literal in literals)
        firsts = [re.escape(literal.units[0]) for literal in literals if literal.core]
        self.ends = re.compile("|".join([*firsts, r"\s"] if self.spaced else firsts))
        """Finds the end of a key."""
        lasts = {first[-1] for first in firsts}
        self.lasts = re.compile(f"[{''.join(map(re.escape, sorted(lasts)))}\\s]")
        """Finds a sign with which the text after a key may be there."""
        self.firsts = tuple(literal.units[0] for literal in literals if literal.core)
        """The first unit of each of these texts."""
        pair = len(rows) == 1 and [*map(is_unit, literals[0].units)] == [True, True]
        self.lone = rows[0] if pair else None
        """The only row, if two markers follow its key: the key's closer and the value's opener."""
        self.patterns = _patterns(rows)
        self._cores = tuple(_without_space(literal.core) for literal in literals)

    def begin(self, text: str) -> bool:
        """Return whether one of these texts begins with `text`, whitespace aside."""
        return any(core.startswith(_without_space(text)) for core in self._cores)


def _without_space(text: str) -> str:
    return "".join(text.split())


def _patterns(rows: Sequence[EntryRow]) -> list[tuple[re.Pattern[str], EntryRow]]:
    """Return patterns of the texts between key and value, with any whitespace between units."""
    bare = [row for row in rows if row.quote]
    rows = [row for row in rows if not row.quote]
    blank = [row for row in rows if row.middle and not row.middle.strip()]
    cores = {TemplateLiteral.of(row.middle).core: row for row in reversed(rows) if row not in blank}
    found: list[tuple[re.Pattern[str], EntryRow]] = []
    for core in sorted(cores, key=len, reverse=True):
        units = TemplateLiteral(core=core).units
        found.append((re.compile(r"\s*" + r"\s*".join(map(re.escape, units))), cores[core]))
    for row in bare:
        units = TemplateLiteral.of(row.middle).units
        lead = r"\s*" + r"\s*".join(map(re.escape, units))
        found.append((re.compile(rf"{lead}(?=\s+\S|[^\s{row.quote}])"), row))
    # If only whitespace leads to the value, any beyond the template's belongs to the value.
    found += [(re.compile(rf"{re.escape(row.middle)}|\s"), row) for row in blank]
    return found


def read_arguments(
    tape: TextTape,
    arguments: ArgumentFormat,
    schema: SchemaPart,
    stops: Sequence[str],
    emit: Emit,
    *,
    repairs: Sequence[str],
    goes_on: GoesOn,
    space: str = "",
    exact: bool = False,
) -> Reading[ReadOutcome]:
    """Return the reader of arguments, which emits them as the text of one JSON object.

    `schema` is that of the parameters and `stops` are the texts that may follow the
    arguments. Before one of `repairs`, which are among these, missing closers of JSON are added;
    before another sign, such as a fence, only if `goes_on` recognizes the end of the call. `space`
    is the whitespace that the template writes before stops. If a value's closer is missing,
    `goes_on` decides whether a stop is more than text. With `exact` a string is read as the
    template writes it, even if it looks escaped.
    """
    if arguments.encoded:
        return _read_encoded(tape, emit, repairs)
    if arguments.is_object:
        required, python = schema.required, _escapes_as_python(arguments)
        return _read_object(tape, emit, repairs, goes_on, required, python=python)
    values = ValueReader(tape, arguments, schema, stops, emit, space, goes_on)
    values.exact = exact
    return EntryReader(values, emit).read()


def _read_object(
    tape: TextTape,
    emit: Emit,
    repairs: Sequence[str],
    goes_on: GoesOn,
    required: frozenset[str],
    *,
    python: bool,
) -> Reading[ReadOutcome]:
    """Read arguments that are one object, also as a JSON string or as nothing."""
    yield from skip_space(tape, _ARGUMENTS)
    if (yield from at_text(tape, '"')):
        # Models also write the object as a JSON string.
        return (yield from _read_encoded(tape, emit, repairs))
    if (yield from at_any(tape, _NOTHING)):
        outcome = yield from read_json(tape, ignore, repairs)
        emit("{}")
        return _REPAIRED if outcome is _COMPLETE else outcome
    if tape.left() and tape.text[tape.at] != "{":
        return _BAD
    return (
        yield from read_json(tape, emit, repairs, goes_on=goes_on, required=required, python=python)
    )


def _read_encoded(tape: TextTape, emit: Emit, repairs: Sequence[str]) -> Reading[ReadOutcome]:
    """Read JSON inside a JSON string; an empty string means no arguments."""
    pieces: list[str] = []
    outcome = yield from read_json(tape, pieces.append, repairs)
    text = "".join(pieces)
    try:
        inner = decode_json(text)
        if isinstance(inner, str):
            text = inner
            inner = decode_json(text) if text.strip() else None
    except (ValueError, RecursionError):
        return _CUT if outcome is _CUT else _BAD
    if inner is None:
        text, outcome = "{}", _REPAIRED
    elif not isinstance(inner, dict):
        return _BAD
    emit(text)
    return _REPAIRED if repeats_key(text.lstrip()) else outcome


_NOTHING = ("null", "None")
"""Texts that models write for the arguments of a call without any."""
