"""Reading raw text up to its closer: what follows a closer decides whether it is one."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from json.encoder import encode_basestring
from typing import NamedTuple, Protocol

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import ValueNotation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.core.schema_parts import SchemaPart

from .entry_openings import EntryRow, read_elements
from .json_text import Emit, QuoteScan, ReadOutcome
from .text_lookahead import FoundStop, GoesOn, StopTable, TextLookahead
from .text_tape import Reading, SpanKind, TextLane, TextTape
from .value_decoding import UnreadableValueError, decode_typed, decode_value, is_huge


class ArgumentsAround(Protocol):
    """What is known of the arguments around a value."""

    tape: TextTape
    arguments: ArgumentFormat
    stops: tuple[str, ...]
    space: str
    rows: Sequence[EntryRow]
    separator: TemplateLiteral
    openings: tuple[TemplateLiteral, ...]
    schema: SchemaPart
    names: frozenset[str]
    given: set[str]
    goes_on: GoesOn
    unclosed: bool


class _Stop(Enum):
    """What a text is that is looked for in a value."""

    CLOSER = auto()
    """What closes the value, or comes after it where nothing does."""
    MARKER = auto()
    """What ends a value whose closer was forgotten."""
    OPENING = auto()
    """What opens an element in the value that closes as the value does."""
    ESCAPE = auto()
    """What stands for a character, and holds what closes the value."""
    ENTRY = auto()
    """What the next entry begins with where that is no marker: a separator, or a short sign."""


class _Sight(Enum):
    """What a text that may end a value is, seen with what follows it."""

    END = auto()
    """The value ends before it."""
    TEXT = auto()
    """It is of the value."""
    QUOTED = auto()
    """A closer in a string or an element: it ends the value if that does not become whole."""
    DOUBT = auto()
    """A marker, or a closer without what parts entries, that ends the value if no other comes."""
    CLOSED = auto()
    """What closes the call, and something else after it: it ends the value if no closer comes."""
    ENTRY = auto()
    """What opens an entry of a declared key: it ends the value if no closer comes."""


class _Doubt(NamedTuple):
    """Where a value may have ended; positions in all that was fed."""

    start: int
    cut: int
    sight: _Sight


class RawReader:
    r"""Reads the text of one value, up to its closer or to what comes where that was forgotten.

    In `<p=a>\nUse <call> to call\n</p>` no call begins: the marker waits for the closer and is
    text then. In `<p=a>\nx\n<p=b>` an entry follows, so the first one ends before it. In
    `<a><a>1</a></a>` the first closer is the inner element's.
    """

    def __init__(
        self,
        around: ArgumentsAround,
        key: str,
        after: TemplateLiteral,
        emit: Emit | None,
        escapes: Sequence[str] = (),
        *,
        quoted: bool = False,
        nested: str = "",
    ) -> None:
        """Prepare to read up to `after`; the text is emitted as it comes, or kept in `pieces`.

        `escapes` are texts that hold what closes the value, and stand for a character of it. A
        `quoted` value is a string, whatever it looks like. `nested` opens an element in the value
        that closes as the value does.
        """
        self.around, self.key, self.after = around, key, after
        self.nests, self.quoted = bool(nested), quoted
        self.depth = 0
        """Elements in the value that are open and close as it does."""
        self.pieces: list[str] = []
        self.buffers = emit is None and not quoted
        self.quotes = QuoteScan(around.arguments.values)
        self.doubts: deque[_Doubt] = deque()
        """What was seen and is not yet decided; from the first on the text is left."""
        self.take: Emit = self.pieces.append if emit is None else _escaping(emit)
        self._closes = [key + row.end.strip()[:1] for row in around.rows if row.keyed_close]
        """What follows the closer where an entry ends with its key."""
        opens = [opening.core for opening in around.openings if opening.core]
        closers = [after.core] if after.core else [around.separator.core, *around.stops]
        stops = [("", nested, _Stop.OPENING)]
        space = after.before if after.core else around.space
        stops += [(space, text, _Stop.CLOSER) for text in closers]
        if not after.core and not around.separator.core:
            # Nothing but the next entry's beginning ends the value.
            stops += [(around.separator.text, text, _Stop.CLOSER) for text in opens]
        self.between = after.after + around.separator.text + around.openings[0].before
        """Whitespace and separator that the template writes between a closer and an entry."""
        if after.core and not escapes:
            # Without its closer a value ends before the next marker, and before what the
            # template writes between the two.
            # A turn may end with the text that closes an argument: that is the closer here.
            closer = after.core + key if self._closes else after.core
            others = [text for text in (*around.stops, *opens) if not text.startswith(closer)]
            markers = (text for text in others if len(text) > _SHORT)
            stops += [(after.before + self.between, text, _Stop.MARKER) for text in markers]
        stops += [("", text, _Stop.ENTRY) for text in self._entry_signs()]
        stops += [("", text, _Stop.ESCAPE) for text in escapes]
        self.stops = StopTable(stops)
        # What needs no escape passes by without being looked at again.
        search = self.stops.searching("" if emit is None else _ESCAPED).search
        self.lane = TextLane(
            search,
            SpanKind.ARGUMENTS,
            emit or self._keep,
            self.stops.passed,
            ends=self.stops.ends,
            write=None if emit is None else _in_json,
        )
        self.looked = self.scanned = around.tape.position

    def _entry_signs(self) -> Iterator[str]:
        """Return what the next entry begins with, if a value closes and no marker opens entries."""
        around = self.around
        self.missing = sorted(around.schema.names - around.given, key=len, reverse=True)
        """The declared keys that were not given yet."""
        if self.after.core and self.missing and not self.nests:
            for opening in around.openings:
                sign = opening.core or around.separator.core
                if len(sign) <= _SHORT or not opening.core:
                    # What closes an entry by its key may end with a marker of its own.
                    tails = {"", *(row.end.strip()[1:] for row in around.rows)}
                    yield from (f"{tail}{sign}" for tail in sorted(tails))

    def read(self) -> Reading[ReadOutcome]:
        """Take the text; the closer is left. REPAIRED where it is not there.

        A closer inside a string of an array or object is text, if the value is whole after it.
        """
        tape, stops = self.around.tape, self.stops
        while True:
            found = stops.find(tape.text, max(tape.at, self.looked - tape.offset))
            if found is not None and not tape.closed and stops.unsure(tape.text, found, tape.at):
                # Another stop may have begun before it, and hold it.
                begun = stops.safe(tape.text, tape.at)
                self._leave(min(begun, stops.written_before(tape.text, found, tape.at)))
                yield
                continue
            if self._too_far(found):
                return ReadOutcome.COMPLETE
            if found is None:
                if tape.closed:
                    return self._ended()
                end = stops.safe(tape.text, max(tape.at, self.looked - tape.offset))
                self.looked = tape.offset + end
                self._leave(end)
                if not self.doubts:
                    tape.pass_by(self.lane)
                yield
                continue
            sight = yield from self._seen(found)
            if sight is not None:
                return sight

    def _seen(self, found: FoundStop[_Stop]) -> Reading[ReadOutcome | None]:
        """Decide over a text that may end the value; return the outcome where it does."""
        tape = self.around.tape
        start, size = tape.offset + found.start, found.end - found.start
        cut = tape.offset + self.stops.written_before(tape.text, found, tape.at)
        self._leave(cut - tape.offset)
        quoted = self.buffers and self._in_string(start)
        sight = yield from self._sight(found.label, start, size, cut, quoted=quoted)
        self.looked = start + (1 if found.label in _TRIED_AGAIN else size)
        if sight is _Sight.END or (sight in _DOUBTED and self.around.unclosed):
            closed = found.label is _Stop.CLOSER
            return self._close(cut, ReadOutcome.COMPLETE if closed else ReadOutcome.REPAIRED)
        if sight is not _Sight.TEXT:
            self.doubts.append(_Doubt(start, cut, sight))
        return None

    def _sight(
        self, label: _Stop, start: int, size: int, cut: int, *, quoted: bool
    ) -> Reading[_Sight]:
        """Say what a text is that may end the value; `cut` is where it then ends."""
        tape, around = self.around.tape, self.around
        if label is _Stop.ESCAPE or (quoted and label is not _Stop.CLOSER):
            return _Sight.TEXT
        if label is _Stop.OPENING:
            self.depth += 1
            return _Sight.DOUBT
        if label is _Stop.MARKER:
            return (yield from self._marker(start, cut))
        if label is _Stop.ENTRY:
            return (yield from self._declared_entry(TextLookahead(tape, start + size)))
        if self.after.core:
            ahead = TextLookahead(tape, start + size)
            sight = yield from self._closer(ahead)
        else:
            text = tape.text[start - tape.offset : start - tape.offset + size]
            ends = text in around.stops or (yield from self._entry(TextLookahead(tape, start)))
            sight = _Sight.END if ends else _Sight.TEXT
        nested = self.depth > 0
        if nested and (sight is not _Sight.TEXT or not self._closes):
            self.depth -= 1
        if sight is _Sight.TEXT:
            return sight
        return _Sight.QUOTED if quoted or nested else sight

    def _marker(self, start: int, cut: int) -> Reading[_Sight]:
        """Say what a marker is before which no closer stands."""
        around = self.around
        ahead = TextLookahead(around.tape, start)
        for opening in around.openings:
            core = opening.core
            if core and core not in around.stops and (yield from ahead.text(core)):
                key = yield from self._keyed(ahead)
                if key is None:
                    return _Sight.TEXT
                apart = not self.between[-1:].isspace() or cut < start
                if not apart and key in around.names:
                    # A key that the tool declares opens an entry in a line, too, but not in prose.
                    apart = not (yield from ahead.among((" ", "\t")))
                ends = apart and key not in around.given and not self.nests and not self.quoted
                return _Sight.END if ends else _Sight.DOUBT
        after = yield from around.goes_on(ahead)
        return {None: _Sight.CLOSED, True: _Sight.END, False: _Sight.DOUBT}[after]

    def _declared_entry(self, ahead: TextLookahead) -> Reading[_Sight]:
        """Say whether an entry of a declared key comes, whose value then shows that it is one.

        In `a:<q>x,b:<q>y<q>` the quote behind `b:` closes nothing, for `y` comes after it. In
        `a:<q>x,b:3<q>` it is a text in which a closer comes.
        """
        around = self.around
        yield from ahead.space()
        if (yield from ahead.among(self.missing)) is None:
            return _Sight.TEXT
        yield from ahead.space()
        middles = [unit for row in around.rows for unit in TemplateLiteral.of(row.middle).units[:1]]
        if (yield from ahead.among(middles)) is None:
            return _Sight.TEXT
        string = around.arguments.values.string
        quote, close = string.open.strip(), string.close.strip()
        yield from ahead.space()
        if not self.quoted or not quote or not (yield from ahead.text(quote)):
            return _Sight.ENTRY
        if quote == close and (yield from self._closer(ahead)) is not _Sight.TEXT:
            return _Sight.TEXT
        return _Sight.END

    def _close(self, end: int, outcome: ReadOutcome) -> ReadOutcome:
        """End the value here, or where it was doubted that it ends, if it is not whole here."""
        tape = self.around.tape
        repaired = outcome is ReadOutcome.REPAIRED
        tried = {_Sight.QUOTED, _Sight.DOUBT} if self.nests and repaired else {_Sight.QUOTED}
        may_break = any(doubt.sight in tried for doubt in self.doubts)
        broken = may_break and not self._is_whole(end - tape.offset)
        for doubt in self.doubts:
            if (broken and doubt.sight in tried) or (doubt.sight in _UNCLOSED and repaired):
                self._pass(doubt.cut - tape.offset)
                quoted = doubt.sight is _Sight.QUOTED
                return ReadOutcome.COMPLETE if quoted else ReadOutcome.REPAIRED
        self._pass(end - tape.offset)
        return outcome

    def _in_string(self, start: int) -> bool:
        """Whether a place stands inside a string of an array or object."""
        tape = self.around.tape
        begin = max(self.scanned, tape.position) - tape.offset
        self.quotes.read(tape.text[begin : start - tape.offset])
        self.scanned = max(self.scanned, start)
        return self.quotes.inside("")

    def _too_far(self, found: FoundStop[_Stop] | None) -> bool:
        """Whether a doubted closer ends the value, since no other comes; markers are text then."""
        tape = self.around.tape
        seen = tape.offset + (len(tape.text) if found is None else found.start)
        wait = _LONGEST_DOUBT + (_LONGEST_KEY if found is None else 0)
        while self.doubts and seen - self.doubts[0].start > wait:
            if self.doubts[0].sight is _Sight.QUOTED:
                self._pass(self.doubts[0].cut - tape.offset)
                return True
            self.doubts.popleft()
            if self.doubts:
                self._pass(self.doubts[0].cut - tape.offset)
        return False

    def _is_whole(self, end: int) -> bool:
        """Whether the text up to here can be read as a value."""
        tape, notation = self.around.tape, self.around.arguments.values
        text = "".join(self.pieces) + tape.text[tape.at : end]
        try:
            read_elements(text, notation, SchemaPart.of(True))
        except UnreadableValueError:
            try:
                decode_value(text, notation)
            except UnreadableValueError:
                return False
        return True

    def _leave(self, end: int) -> None:
        """Take the text up to here, unless it is not decided what stands before."""
        if not self.doubts:
            self._pass(end)

    def _pass(self, end: int) -> None:
        tape = self.around.tape
        if end > tape.at:
            if self.buffers and self.scanned < tape.offset + end:
                begin = max(self.scanned - tape.offset, tape.at)
                self.quotes.read(tape.text[begin:end])
                self.scanned = tape.offset + end
            self.take(tape.take(end - tape.at, SpanKind.ARGUMENTS))

    def _keep(self, text: str) -> None:
        """Take a piece that passes by."""
        self.take(text)
        if self.buffers:
            self.quotes.read(text)
            self.scanned = self.around.tape.position

    def _ended(self) -> ReadOutcome:
        """Take all that is left: whole where the model has ended, cut where it was stopped."""
        tape = self.around.tape
        if not tape.complete:
            # What may have begun to close the value is left, as before more text came.
            at = max(tape.at, self.looked - tape.offset)
            self._pass(max(tape.at, self.stops.safe(tape.text, at)))
            return ReadOutcome.CUT
        if self.doubts:
            first = self.doubts[0]
            self.around.unclosed = True
            self._pass(first.cut - tape.offset)
            return ReadOutcome.COMPLETE if first.sight is _Sight.QUOTED else ReadOutcome.REPAIRED
        rest = len(tape.text)
        for char in reversed(self.after.before):
            if rest > tape.at and tape.text[rest - 1] == char:
                rest -= 1
        self._pass(rest)
        tape.take(tape.left(), SpanKind.MARKUP)
        return ReadOutcome.REPAIRED

    def _entry(self, ahead: TextLookahead) -> Reading[bool]:
        """Whether what looks like the next entry is one; true where none opens so."""
        for opening in self.around.openings:
            core = opening.core
            if core and core not in self.around.stops and (yield from ahead.text(core)):
                return (yield from self._keyed(ahead)) is not None
        return True

    def _closer(self, ahead: TextLookahead) -> Reading[_Sight]:
        """Say what a closer is by what stands after it: text, where that may not stand there.

        A key without the separator before it is forgiven where no other closer comes.
        """
        around = self.around
        begin = [unit for opening in around.openings for unit in opening.units[:1]]
        wanted = [around.separator.core, *begin, *around.stops]
        wanted = self._closes or wanted
        yield from ahead.space()
        if (yield from ahead.ended()) or (yield from ahead.among(wanted)) is not None:
            return _Sight.END
        if ahead.short and not around.tape.complete:
            # The cut has left the front of what may follow.
            return _Sight.END
        keyed = TextLookahead(around.tape, around.tape.offset + ahead.at)
        if not begin and (yield from self._keyed(keyed)) is not None:
            return _Sight.DOUBT if around.separator.core else _Sight.END
        # Of what closes the call only the front may be there.
        if (yield from ahead.among(begun_stops(around.stops))) is None:
            return _Sight.TEXT
        yield from ahead.space()
        return _Sight.END if (yield from ahead.ended()) else _Sight.CLOSED

    def _keyed(self, ahead: TextLookahead) -> Reading[str | None]:
        """Return the key that comes next, with what leads to its value; None where none does."""
        around = self.around
        yield from ahead.space()
        key = yield from ahead.word(_WORD, _LONGEST_KEY)
        if not key or (around.names and key not in around.names):
            return None
        if any(row.middle.isspace() for row in around.rows):
            return None if (yield from ahead.ended()) else key
        yield from ahead.space()
        middles = [unit for row in around.rows for unit in TemplateLiteral.of(row.middle).units[:1]]
        return None if (yield from ahead.among(middles)) is None else key


def begun_stops(stops: Sequence[str]) -> tuple[str, ...]:
    """Return the signs before the markers of stops, such as the brace of `}</call>`."""
    fronts = (TemplateLiteral.of(stop).units[0] for stop in stops)
    return tuple(dict.fromkeys(front for front in fronts if front not in stops))


def _escaping(emit: Emit) -> Emit:
    """Pass text on as the inside of a JSON string."""

    def escape(text: str) -> None:
        emit(_in_json(text))

    return escape


def _in_json(text: str) -> str:
    """Return a text as the inside of a JSON string."""
    return encode_basestring(text)[1:-1]


_ESCAPED = '"\\' + "".join(map(chr, range(0x20)))
_WORD = re.compile(r"[^\s:=<>(){}\[\],;\"']+")
_TRIED_AGAIN = (_Stop.CLOSER, _Stop.MARKER)
"""What another stop may begin within."""
_DOUBTED = (_Sight.DOUBT, _Sight.ENTRY)
"""What ends a value where nothing closes one any more."""
_UNCLOSED = (_Sight.CLOSED, _Sight.ENTRY)
"""What ends a value that something else than its closer ends."""
_LONGEST_KEY = 4096
_LONGEST_DOUBT = 16384
"""Characters in which what decides has to follow what may or may not end a value."""
_SHORT = 2
"""So short texts are not markers."""


_NUMBERED = frozenset({"number", "array", "object"})
"""Types whose values may be or hold a number that is not an integer."""


def json_of(
    text: str,
    schema: SchemaPart,
    types: frozenset[str] | None,
    notation: ValueNotation,
    *,
    quoted: bool,
) -> str:
    """Return the JSON text of a value that is written as this raw text."""
    string = notation.string
    if quoted or types == frozenset({"string"}):
        return json.dumps(string.read(text), ensure_ascii=False)
    if not text.strip() and types is not None:
        for kind, container, empty in (
            ("array", notation.array, "[]"),
            ("object", notation.object, "{}"),
        ):
            if kind in types and not container.empty.strip():
                return empty
    try:
        return json.dumps(read_elements(text, notation, schema), ensure_ascii=False)
    except UnreadableValueError:
        value = decode_typed(text, types, notation)
    if isinstance(value, str):
        if (types is None or types & _NUMBERED) and is_huge(text.strip()):
            return text.strip()
        if types is not None and "string" not in types:
            value = _of_other_type(text, types, notation)
        else:
            value = string.read(value)
    return json.dumps(value, ensure_ascii=False)


def _of_other_type(text: str, types: frozenset[str], notation: ValueNotation) -> Json:
    """Return the value of a text that has none of its types, where a string is not one of them.

    No type at all is left where the schema says string alone and the text stands without the
    quotes of one: a bare literal but null is its text.
    """
    try:
        value = decode_value(text, notation)
    except UnreadableValueError:
        return notation.string.read(text)
    return value if types or value is None or isinstance(value, str) else text
