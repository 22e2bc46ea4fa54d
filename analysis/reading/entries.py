"""Reading arguments that are written one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring

from autoparser.analysis.conversation import Json
from autoparser.analysis.expression import Literal
from autoparser.analysis.format import Arguments, Escape, JsonType

from .brackets import BracketScan
from .decoding import Unreadable, allowed_types, decode, typed, unescape
from .json_text import Emit, Outcome, read_json
from .literals import (
    at_any,
    at_text,
    behind_space,
    read_literal,
    skip_space,
    skip_written,
)
from .rows import EntryRow, entry_rows
from .tape import Reading, SpanKind, Tape

_STRING = frozenset({"string"})


class EntryReader:
    """Reads arguments that are written one by one."""

    def __init__(
        self,
        tape: Tape,
        arguments: Arguments,
        schema: Mapping[str, Json] | None,
        stops: Sequence[str],
        emit: Emit,
    ) -> None:
        self.tape, self.arguments, self.emit = tape, arguments, emit
        properties = (schema or {}).get("properties")
        self.properties = properties if isinstance(properties, dict) else {}
        self.stops = tuple(stop for stop in stops if stop)
        self.rows = entry_rows(arguments)
        self.separator = Literal.of(arguments.members.separator)
        self.opening = Literal.of(self.rows[0].before)
        self.middles = _middles(self.rows)
        self.count = 0
        self.repaired = False

    def read(self, *, finish: bool) -> Reading[Outcome]:
        """Read entries up to one of the stops."""
        tape = self.tape
        self.emit("{")
        while True:
            yield from skip_space(tape)
            if not (yield from tape.wait(1)):
                if finish and self.count:
                    self.emit("}")
                    return Outcome.REPAIRED
                return Outcome.CUT
            if self.separator.core and (yield from at_text(tape, self.separator.core)):
                tape.take(len(self.separator.core), SpanKind.MARKUP)
                continue
            stop = yield from at_any(tape, self.stops)
            core = self.opening.core
            opens = bool(core) and (yield from at_text(tape, self.opening.units[0]))
            if stop is not None and (not opens or len(stop) > len(core)):
                self.emit("}")
                return Outcome.REPAIRED if self.repaired else Outcome.COMPLETE
            if core and not opens:
                return Outcome.CUT if tape.closed and not tape.left() else Outcome.BAD
            outcome = yield from self._entry()
            if outcome is not None:
                return outcome

    def _entry(self) -> Reading[Outcome | None]:
        tape = self.tape
        for unit in self.opening.units:
            yield from skip_space(tape)
            if not (yield from at_text(tape, unit)):
                return Outcome.BAD if tape.left() else Outcome.CUT
            tape.take(len(unit), SpanKind.MARKUP)
        key = yield from self._key()
        if key is None:
            return Outcome.CUT if tape.closed else Outcome.BAD
        row = yield from self._middle()
        if row is None:
            return Outcome.CUT if tape.closed and not tape.left() else Outcome.BAD
        self.emit((", " if self.count else "") + encode_basestring(key) + ": ")
        self.count += 1
        return (yield from self._value(key, row))

    def _key(self) -> Reading[str | None]:
        """Read a key up to what stands between it and its value."""
        middles = [Literal.of(row.middle) for row in self.rows]
        firsts = tuple(middle.units[0] for middle in middles if middle.core)
        while True:
            text = self.tape.text
            found = [at for first in firsts if (at := text.find(first, self.tape.at)) >= 0]
            if found:
                size = min(found) - self.tape.at
                return self.tape.take(size, SpanKind.ARGUMENTS).strip().strip("\"'")
            if self.tape.closed or self.tape.left() > _LONGEST_KEY:
                return None
            yield

    def _middle(self) -> Reading[EntryRow | None]:
        """Take what stands between key and value; it may tell the value's type."""
        tape = self.tape
        while True:
            for pattern, row in self.middles:
                match = pattern.match(tape.text, tape.at)
                if match:
                    tape.take(match.end() - tape.at, SpanKind.MARKUP)
                    yield from skip_written(tape, Literal.of(row.middle).after)
                    return row
            if tape.closed or tape.left() > _LONGEST_KEY:
                return None
            yield

    def _value(self, key: str, row: EntryRow) -> Reading[Outcome | None]:
        flagged = row.kinds if len(self.rows) > 1 else None
        types = allowed_types(self.properties.get(key))
        if flagged is not None:
            types = _STRING if flagged == {JsonType.STRING} else frozenset(map(str, flagged))
        text = self.arguments.values.string
        quote = text.open.strip()
        if text.escape is Escape.PYTHON or (
            quote in ('"', "'") and text.escape is not Escape.VERBATIM
        ):
            return (yield from self._quoted(row))
        if quote:
            if (yield from at_text(self.tape, quote)):
                self.tape.take(len(quote), SpanKind.MARKUP)
                types = _STRING
                return (yield from self._raw(key, row, types, quoted=True))
            types = (types or _ANY) - _STRING
        if not row.after.strip() and types != _STRING:
            return (yield from self._structured(row, types))
        return (yield from self._raw(key, row, types, quoted=False))

    def _quoted(self, row: EntryRow) -> Reading[Outcome | None]:
        """Read a value of a notation that quotes strings as JSON or Python does."""
        outcome = yield from read_json(
            self.tape, self.emit, (*self._followers(row), *self.stops), finish=True
        )
        if outcome in (Outcome.BAD, Outcome.CUT):
            return outcome
        self.repaired = self.repaired or outcome is Outcome.REPAIRED
        return (yield from self._closed(row))

    def _followers(self, row: EntryRow) -> Iterator[str]:
        close = Literal.of(row.after)
        if close.core:
            yield close.core
        if self.separator.core:
            yield self.separator.core
        if self.opening.core:
            yield self.opening.units[0]

    def _raw(
        self, key: str, row: EntryRow, types: frozenset[str] | None, *, quoted: bool
    ) -> Reading[Outcome | None]:
        """Read the text of a value up to what closes it."""
        string = self.arguments.values.string
        after = Literal.of((string.close if quoted else "") + row.after)
        streams = types == _STRING and string.escape is Escape.VERBATIM and string.guard is None
        pieces: list[str] = []
        if streams:
            self.emit('"')
        ended = yield from self._text(key, after, None if streams else pieces)
        if ended is Outcome.CUT:
            return Outcome.CUT
        if streams:
            self.emit('"')
        else:
            self.emit(_written("".join(pieces), types, self.arguments, quoted=quoted))
        if ended is Outcome.REPAIRED:
            self.repaired = True
            return None
        yield from skip_space(self.tape)
        for unit in after.units:
            yield from skip_space(self.tape)
            if (yield from at_text(self.tape, unit)):
                self.tape.take(len(unit), SpanKind.MARKUP)
        return (yield from self._closed_key(key, row))

    def _text(self, key: str, after: Literal, pieces: list[str] | None) -> Reading[Outcome]:
        """Take a value's text; into `pieces`, or emitted as it comes where there are none."""
        while True:
            size, ended = self._end_of_value(after, key)
            if size:
                taken = self.tape.take(size, SpanKind.ARGUMENTS)
                if pieces is None:
                    self.emit(encode_basestring(taken)[1:-1])
                else:
                    pieces.append(taken)
            if ended is not None:
                return ended
            yield

    def _structured(self, row: EntryRow, types: frozenset[str] | None) -> Reading[Outcome | None]:
        """Read a value that nothing closes but what follows it: by its own brackets and quotes."""
        tape = self.tape
        ends = tuple(text for text in (self.separator.core, *self.stops) if text)
        scan = BracketScan(self.arguments.values)
        while True:
            size = scan.end_of(tape.text, tape.at, ends, closed=tape.closed)
            if size is not None:
                break
            if tape.closed:
                tape.take(tape.left(), SpanKind.ARGUMENTS)
                return Outcome.CUT
            yield
        text = tape.take(size, SpanKind.ARGUMENTS)
        self.emit(_written(text.strip(), types, self.arguments, quoted=False))
        return (yield from self._closed(row))

    def _closed(self, row: EntryRow) -> Reading[Outcome | None]:
        for other in (row, *self.rows):
            after = Literal.of(other.after)
            if after.core and (yield from behind_space(self.tape, after.units[0])):
                yield from read_literal(self.tape, after)
                break
        return None

    def _closed_key(self, key: str, row: EntryRow) -> Reading[Outcome | None]:
        """Take the key and what follows it, where the entry ends with its key."""
        if not row.keyed_close:
            return None
        for text in (key, *Literal.of(row.end).units):
            yield from skip_space(self.tape)
            if (yield from at_text(self.tape, text)):
                self.tape.take(len(text), SpanKind.MARKUP)
        return None

    def _end_of_value(self, after: Literal, key: str) -> tuple[int, Outcome | None]:
        """Say how much of the text is surely the value's, and whether it ends there."""
        tape = self.tape
        stops = [after.core] if after.core else [self.separator.core, *self.stops]
        missing = (
            []
            if not after.core
            else [
                stop
                for stop in (*self.stops, self.opening.core)
                if len(stop) > 2  # noqa: PLR2004
            ]
        )
        text, start = tape.text, tape.at
        at = start
        while True:
            found = [
                (place, -len(stop), stop)
                for stop in (*stops, *missing)
                if stop and (place := text.find(stop, at)) >= 0
            ]
            if not found:
                break
            place, _, stop = min(found)
            if stop not in stops:
                return _cut_space(text, start, place, after.before) - start, Outcome.REPAIRED
            follows = self._follows(place + len(stop), key) if after.core else True
            if follows is None:
                return max(0, place - start - len(after.before)), None
            if follows:
                return _cut_space(text, start, place, after.before) - start, Outcome.COMPLETE
            at = place + 1
            text = tape.text
        if tape.closed:
            return len(text) - start, Outcome.CUT
        longest = max((len(stop) for stop in (*stops, *missing)), default=0) + len(after.before)
        return max(0, len(text) - start - longest), None

    def _follows(self, at: int, key: str) -> bool | None:
        """Whether what stands behind a closer may stand there; None: not to be seen yet."""
        rest = self.tape.text[at:].lstrip()
        wanted = [self.separator.core, *self.opening.units[:1], *self.stops]
        if any(row.keyed_close for row in self.rows):
            wanted = [key]
        if any(text and rest.startswith(text) for text in wanted):
            return True
        if self.tape.closed and not rest:
            return True
        if rest and not self.opening.core and (rest[0].isalnum() or rest[0] == "_"):
            return True
        if self.tape.closed:
            return False
        if any(text.startswith(rest) for text in wanted):
            return None
        return False


_LONGEST_KEY = 4096
_ANY = frozenset({"null", "boolean", "integer", "number", "array", "object", "string"})


def _middles(rows: Sequence[EntryRow]) -> list[tuple[re.Pattern[str], EntryRow]]:
    """Give what stands between key and value, whitespace between its units forgiven."""
    cores = {Literal.of(row.middle).core: row for row in reversed(rows)}
    found: list[tuple[re.Pattern[str], EntryRow]] = []
    for core in sorted(cores, key=len, reverse=True):
        units = Literal(core=core).units
        found.append((re.compile(r"\s*" + r"\s*".join(map(re.escape, units))), cores[core]))
    return found


def _cut_space(text: str, start: int, end: int, space: str) -> int:
    """Leave out the whitespace that the template writes before a closer."""
    for char in reversed(space):
        if end <= start or text[end - 1] != char:
            break
        end -= 1
    return end


def _written(text: str, types: frozenset[str] | None, arguments: Arguments, *, quoted: bool) -> str:
    string = arguments.values.string
    if quoted or types == _STRING:
        return json.dumps(unescape(text, string), ensure_ascii=False)
    if not text.strip() and types is not None:
        for kind, container, empty in (
            ("array", arguments.values.array, "[]"),
            ("object", arguments.values.object, "{}"),
        ):
            if kind in types and not container.empty.strip():
                return empty
    value = typed(text, types, arguments.values)
    if isinstance(value, str):
        if types is not None and "string" not in types:
            try:
                value = decode(text, arguments.values)
            except Unreadable:
                value = unescape(text, string)
        else:
            value = unescape(value, string)
    return json.dumps(value, ensure_ascii=False)
