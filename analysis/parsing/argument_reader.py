"""Read a call's arguments in the notation of the format, and emit them as one JSON object.

`read_arguments` chooses a reader: JSON is copied by `read_json`, a string of JSON is decoded first,
and arguments written one by one are read by `EntryReader`:

    <a=city>Oslo</a><a=days>3</a>  ->  {"city": "Oslo", "days": 3}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.core.text_alignment import is_unit

from .json_text import Emit, ReadOutcome, ignore, read_json
from .raw_text import begun_stops
from .text_lookahead import (
    GoesOn,
    StopTable,
    TextLookahead,
    at_any,
    at_text,
    skip_space,
    skip_written,
    take_text,
)
from .text_tape import Reading, SpanKind, TextTape
from .value_decoding import EntryRow, json_value, without_quotes
from .value_reader import ValueReader

# Arguments that are written one by one.


class EntryReader:
    """Reads arguments that are written one by one."""

    def __init__(self, values: ValueReader, emit: Emit) -> None:
        self.values, self.emit, self.tape = values, emit, values.tape
        self.key = values.arguments.members.key
        known = [*values.rows, *without_quotes(values.rows)]
        self.middles = {
            core: _Middles([row for row in known if TemplateLiteral.of(row.before).core == core])
            for core in {opening.core for opening in values.openings}
        }
        self.count = 0

    def read(self) -> Reading[ReadOutcome]:
        """Read entries up to one of the stops."""
        tape = self.tape
        self.emit("{")
        while True:
            yield from skip_space(tape)
            if not (yield from tape.wait(1)):
                if tape.complete and self.count:
                    self.emit("}")
                    return ReadOutcome.REPAIRED
                return ReadOutcome.CUT
            separator = self.values.separator.core
            if separator and (yield from take_text(tape, separator)):
                continue
            stop = yield from at_any(tape, self.values.stops)
            opening = yield from self._opening()
            bare = opening is None and stop is None and (yield from self._begins_with_key())
            begun = tape.text[tape.at]
            is_sign = not begun.isalnum() and begun not in "_\"'"
            if stop is None and opening is None and not bare and is_sign:
                # Only the front of the call's closer is there.
                stop = yield from at_any(tape, begun_stops(self.values.stops))
            if stop is not None and (opening is None or len(stop) > len(opening.core)):
                self.emit("}")
                return ReadOutcome.REPAIRED if self.values.repaired else ReadOutcome.COMPLETE
            if opening is None and self.values.openings[0].core and not bare:
                return ReadOutcome.CUT if tape.cut else ReadOutcome.BAD
            outcome = yield from self._entry(opening or self.values.openings[0], bare=bare)
            if outcome is not None:
                return outcome

    def _opening(self) -> Reading[TemplateLiteral | None]:
        """Return the opening of an entry that comes next, or None."""
        if len(self.values.openings) > 1:
            whole = yield from at_any(self.tape, tuple(each.core for each in self.values.openings))
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
        ahead = TextLookahead(self.tape, self.tape.position)
        if (yield from ahead.among(self.values.schema.names)) is None:
            return False
        return (yield from ahead.among(self.middles[opening].firsts)) is not None

    def _entry(self, opening: TemplateLiteral, *, bare: bool) -> Reading[ReadOutcome | None]:
        """Read an entry; the opener of a `bare` one is missing."""
        tape = self.tape
        middles = self.middles[opening.core]
        for unit in () if bare else opening.units:
            yield from skip_space(tape)
            if not (yield from take_text(tape, unit)):
                return ReadOutcome.CUT if tape.cut else ReadOutcome.BAD
        key = yield from self._key(opening, middles)
        if key is None:
            if not tape.closed or tape.left() >= _LONGEST_KEY:
                return ReadOutcome.BAD
            # A closer of the call may have come before the end of the text.
            ended = any(tape.text.find(stop, tape.at) >= 0 for stop in self.values.stops)
            return ReadOutcome.BAD if ended else ReadOutcome.CUT
        row = yield from self._middle(key, middles)
        if row is None:
            return (
                ReadOutcome.CUT
                if tape.closed and middles.begin(tape.text[tape.at :])
                else ReadOutcome.BAD
            )
        self.count += 1
        return (yield from self.values.read(self.key.read(key), key, row))

    def _skip_repeated(self, opening: TemplateLiteral, end: int) -> None:
        """Take a repeated opener of a key if a declared key comes after it."""
        if not opening.core:
            return
        tape = self.tape
        repeats = re.compile(rf"(?:\s*{re.escape(opening.core)})+\s*")
        match = repeats.match(tape.text, tape.at, end)
        if match is not None and tape.text[match.end() : end].strip() in self.values.schema.names:
            tape.take(match.end() - tape.at, SpanKind.MARKUP)

    def _key(self, opening: TemplateLiteral, middles: _Middles) -> Reading[str | None]:
        """Read a key up to the text between it and its value, or return None."""
        tape = self.tape
        if middles.spaced:
            yield from skip_space(tape)
        while True:
            found = middles.ends.search(tape.text, tape.at, tape.at + _LONGEST_KEY)
            if found is not None:
                self._skip_repeated(opening, found.start())
                size = found.start() - tape.at
                key = tape.take(size, SpanKind.ARGUMENTS).strip()
                # Models also write names in quotes.
                return key if key in self.values.schema.names else key.strip("\"'")
            if tape.closed or tape.left() >= _LONGEST_KEY:
                return None
            yield

    def _middle(self, key: str, middles: _Middles) -> Reading[EntryRow | None]:
        """Take the text between key and value; return the row that it belongs to, or None."""
        tape = self.tape
        lone = middles.lone
        while True:
            for pattern, row in middles.patterns:
                match = pattern.match(tape.text, tape.at)
                if match:
                    tape.take(match.end() - tape.at, SpanKind.MARKUP)
                    yield from skip_written(tape, TemplateLiteral.of(row.middle).after)
                    return row
            if lone is not None:
                row, lone = lone, None
                if key in self.values.schema.names and (yield from self._patched(row)):
                    return row
                continue
            if tape.closed or tape.left() > _LONGEST_KEY:
                return None
            yield

    def _patched(self, row: EntryRow) -> Reading[bool]:
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
            tape.take(ahead.at - tape.at if count > 1 else 0, SpanKind.MARKUP)
            return count > 1
        after = TemplateLiteral.of(row.after)
        begin = [each.units[0] for each in self.values.openings if each.core]
        if count > 1 or not after.core or not (yield from self._closes(ahead, after, begin)):
            return False
        tape.take(key_end - tape.position, SpanKind.MARKUP)
        return True

    def _closes(
        self, ahead: TextLookahead, after: TemplateLiteral, begin: Sequence[str]
    ) -> Reading[bool]:
        """Return whether a value's closer comes before other markers, and the entry ends there."""
        others = [text for text in (*begin, *self.values.stops) if text != after.core]
        ends = StopTable([("", after.core, True), *(("", text, False) for text in others)])
        found = yield from ahead.first_of(ends, _LONGEST_KEY)
        if not found or not (yield from ahead.row(after.units)):
            return False
        yield from ahead.space()
        return (yield from ahead.ended()) or (yield from ahead.among(others)) is not None


_LONGEST_KEY = 4096


class _Middles:
    """The texts between key and value of entries that have the same opening."""

    def __init__(self, rows: Sequence[EntryRow]) -> None:
        literals = [TemplateLiteral.of(row.middle) for row in rows]
        self.spaced = any(not literal.core for literal in literals)
        firsts = [re.escape(literal.units[0]) for literal in literals if literal.core]
        self.ends = re.compile("|".join([*firsts, r"\s"] if self.spaced else firsts))
        """Finds the end of a key."""
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
    schema: Mapping[str, Json] | None,
    stops: Sequence[str],
    emit: Emit,
    *,
    repairs: Sequence[str],
    goes_on: GoesOn,
    space: str = "",
) -> Reading[ReadOutcome]:
    """Read arguments and emit them as the text of one JSON object.

    `schema` is the JSON schema of the parameters and `stops` are the texts that may follow the
    arguments. Before one of `repairs`, which are among these, missing closers of JSON are added;
    before another sign, such as a fence, only if `goes_on` recognizes the end of the call. `space`
    is the whitespace that the template writes before stops. If a value's closer is missing,
    `goes_on` decides whether a stop is more than text.
    """
    if arguments.encoded:
        return (yield from _read_encoded(tape, emit, repairs))
    pasted = arguments.values.is_json and arguments.members.key.open == '"'
    if arguments.verbatim or arguments.members.open.strip() == "{" or pasted:
        yield from skip_space(tape, SpanKind.ARGUMENTS)
        if (yield from at_text(tape, '"')):
            # Models also write the object as a JSON string.
            return (yield from _read_encoded(tape, emit, repairs))
        if (yield from at_any(tape, _NOTHING)):
            outcome = yield from read_json(tape, ignore, repairs)
            emit("{}")
            return ReadOutcome.REPAIRED if outcome is ReadOutcome.COMPLETE else outcome
        if tape.left() and tape.text[tape.at] != "{":
            return ReadOutcome.BAD
        return (yield from read_json(tape, emit, repairs, goes_on=goes_on))
    values = ValueReader(tape, arguments, schema, stops, emit, space, goes_on)
    return (yield from EntryReader(values, emit).read())


def _read_encoded(tape: TextTape, emit: Emit, repairs: Sequence[str]) -> Reading[ReadOutcome]:
    """Read JSON inside a JSON string; an empty string means no arguments."""
    pieces: list[str] = []
    outcome = yield from read_json(tape, pieces.append, repairs)
    text = "".join(pieces)
    try:
        inner = json_value(text)
        if isinstance(inner, str):
            text = inner
            inner = json_value(text) if text.strip() else None
    except (ValueError, RecursionError):
        return ReadOutcome.CUT if outcome is ReadOutcome.CUT else ReadOutcome.BAD
    if inner is None:
        text, outcome = "{}", ReadOutcome.REPAIRED
    elif not isinstance(inner, dict):
        return ReadOutcome.BAD
    emit(text)
    return outcome


_NOTHING = ("null", "None")
"""Texts that models write for the arguments of a call without any."""
