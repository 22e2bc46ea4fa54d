"""Reading raw text up to its closer: what follows a closer decides whether it is one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Protocol

from autoparser.analysis.format import Arguments, Literal
from autoparser.analysis.schema import Part

from .brackets import QuoteScan
from .decoding import Unreadable, decode, is_huge, unescape
from .elements import read_elements
from .json_text import Emit, Outcome
from .rows import EntryRow
from .stops import Found, Stops
from .tape import Lane, Reading, SpanKind, Tape
from .typed import typed


class Entries(Protocol):
    """What is known of the arguments around a value."""

    tape: Tape
    arguments: Arguments
    stops: tuple[str, ...]
    space: str
    rows: Sequence[EntryRow]
    separator: Literal
    openings: tuple[Literal, ...]
    names: frozenset[str]


class RawReader:
    """Reads the text of one value, up to its closer or to what comes where that was forgotten."""

    def __init__(
        self,
        around: Entries,
        key: str,
        after: Literal,
        emit: Emit | None,
        escapes: Sequence[str] = (),
        *,
        quoted: bool = False,
    ) -> None:
        """Prepare to read up to `after`; the text is emitted as it comes, or kept in `pieces`.

        `escapes` are texts that hold what closes the value, and stand for a character of it. A
        `quoted` value is a string, whatever it looks like.
        """
        self.around, self.key, self.after = around, key, after
        self.pieces: list[str] = []
        self.quotes = QuoteScan(around.arguments.values)
        self.buffers = emit is None and not quoted
        self.doubted = False
        """Whether the text that is left begins with a closer that seems to stand in a string."""
        self.take: Emit = self._keep if emit is None else _escaping(emit)
        opens = [opening.core for opening in around.openings if opening.core]
        closers = [after.core] if after.core else [around.separator.core, *around.stops]
        stops: list[tuple[str, str, bool | None]]
        stops = [(after.before if after.core else around.space, text, True) for text in closers]
        if not after.core and not around.separator.core:
            # Nothing but the next entry's beginning ends the value.
            stops += [(around.separator.text, text, True) for text in opens]
        if after.core and not escapes:
            # Without its closer a value ends before the next marker, and before what the
            # template writes between the two.
            space = after.before + after.after + around.separator.text + around.openings[0].before
            markers = (text for text in (*around.stops, *opens) if len(text) > _SHORT)
            stops += [(space, text, False) for text in markers]
        stops += [("", text, None) for text in escapes]
        self.stops: Stops[bool | None] = Stops(stops)
        search = self.stops.search
        if emit is not None:
            # What needs no escape passes by without being looked at again.
            search = self.stops.searching(_ESCAPED).search
        self.lane = Lane(search, SpanKind.ARGUMENTS, emit or self.take)

    def read(self) -> Reading[Outcome]:
        """Take the text; the closer is left. REPAIRED where it is not there.

        A closer inside a string of an array or object is text, if the value is whole behind it.
        """
        tape, stops = self.around.tape, self.stops
        looked = tape.position
        while True:
            found = stops.find(tape.text, max(tape.at, looked - tape.offset))
            if self.doubted and self._is_too_far(found):
                return Outcome.COMPLETE
            if found is None:
                if tape.closed:
                    return self._ended()
                if not self.doubted:
                    self._pass(stops.safe(tape.text, tape.at))
                    tape.pass_by(self.lane)
                yield
                continue
            cut = stops.written_before(tape.text, found, tape.at)
            closes = self._decides(found, cut)
            if found.label is None and closes is not None:
                looked = tape.offset + found.end
            elif closes:
                return self._close(found, cut)
            elif closes is None:
                yield
            else:
                looked = tape.offset + found.start + 1

    def _decides(self, found: Found[bool | None], cut: int) -> bool | None:
        """Whether a text ends the value; None: not to be seen yet. What stands before it goes on.

        What ends it, but for the string that it stands in, is left where it is.
        """
        closes = self._closes(found)
        doubts = bool(closes and found.label and self._in_string(found))
        if (closes is None or doubts) and not self.doubted:
            self._pass(cut)
        self.doubted = self.doubted or doubts
        return False if doubts else closes

    def _close(self, found: Found[bool | None], cut: int) -> Outcome:
        """End the value here, or where it was doubted that it ends, if it is not whole here."""
        if self.doubted and not self._is_whole(cut):
            return Outcome.COMPLETE
        self._pass(cut)
        return Outcome.COMPLETE if found.label else Outcome.REPAIRED

    def _in_string(self, found: Found[bool | None]) -> bool:
        """Whether a closer stands inside a string of an array or object."""
        tape = self.around.tape
        return self.buffers and self.quotes.inside(tape.text[tape.at : found.start])

    def _is_too_far(self, found: Found[bool | None] | None) -> bool:
        """Whether no other closer is near enough to the one that seems to be text."""
        tape = self.around.tape
        if found is None:
            return tape.closed or tape.left() > _LONGEST_DOUBT + _LONGEST_KEY
        return found.start - tape.at > _LONGEST_DOUBT

    def _is_whole(self, end: int) -> bool:
        """Whether the text up to here can be read as a value."""
        tape = self.around.tape
        try:
            decode("".join(self.pieces) + tape.text[tape.at : end], self.around.arguments.values)
        except Unreadable:
            return False
        return True

    def _pass(self, end: int) -> None:
        tape = self.around.tape
        if end > tape.at:
            self.take(tape.take(end - tape.at, SpanKind.ARGUMENTS))

    def _keep(self, text: str) -> None:
        self.pieces.append(text)
        self.quotes.read(text)

    def _ended(self) -> Outcome:
        """Take all that is left: whole where the model has ended, cut where it was stopped."""
        tape = self.around.tape
        if not tape.complete:
            self._pass(len(tape.text))
            return Outcome.CUT
        rest = len(tape.text)
        for char in reversed(self.after.before):
            if rest > tape.at and tape.text[rest - 1] == char:
                rest -= 1
        self._pass(rest)
        tape.take(tape.left(), SpanKind.MARKUP)
        return Outcome.REPAIRED

    def _closes(self, found: Found[bool | None]) -> bool | None:
        """Whether a text is the end of the value; None: not to be seen yet."""
        tape = self.around.tape
        if not tape.closed and self.stops.unsure(tape.text, found, tape.at):
            return None
        if found.label is None:
            return False
        if not found.label:
            return self._forgotten(tape.text[tape.at : found.start], tape.text[found.start :])
        if not self.after.core:
            return self._opens(tape.text[found.start :])
        return self._follows(tape.text[found.end :])

    def _forgotten(self, before: str, behind: str) -> bool | None:
        """Whether a marker shows that the closer was forgotten; None: not to be seen yet."""
        if self.buffers and self.quotes.inside(before):
            # In a string of an array or an object it is text.
            return False
        return self._opens(behind)

    def _opens(self, behind: str) -> bool | None:
        """Whether what looks like the next entry is one; true for all else that may follow."""
        for opening in self.around.openings:
            core = opening.core
            if core and behind.startswith(core) and core not in self.around.stops:
                return self._keyed(behind[len(core) :].lstrip())
        return True

    def _follows(self, behind: str) -> bool | None:
        """Whether what stands behind a closer may stand there; None: not to be seen yet."""
        around = self.around
        rest = behind.lstrip()
        begin = [unit for opening in around.openings for unit in opening.units[:1]]
        wanted = [around.separator.core, *begin, *around.stops]
        if any(row.keyed_close for row in around.rows):
            wanted = [self.key]
        if any(text and rest.startswith(text) for text in wanted):
            return True
        if around.tape.closed:
            return not rest or (not begin and self._keyed(rest) is True)
        if any(text.startswith(rest) for text in wanted):
            return None
        return self._keyed(rest) if not begin else False

    def _keyed(self, rest: str) -> bool | None:
        """Whether a key follows, in notations where nothing opens an entry."""
        around = self.around
        match = _WORD.match(rest)
        if match is None:
            return None if not rest and not around.tape.closed else False
        if any(row.middle.isspace() for row in around.rows):
            if match.end() == len(rest):
                return None if not around.tape.closed and match.end() < _LONGEST_KEY else False
            return not around.names or match.group() in around.names
        behind = rest[match.end() :].lstrip()
        middles = [Literal.of(row.middle).units[:1] for row in around.rows]
        if any(behind.startswith(unit) for units in middles for unit in units):
            return not around.names or match.group() in around.names
        if around.tape.closed or match.end() > _LONGEST_KEY:
            return False
        return None if any(u.startswith(behind) for units in middles for u in units) else False


def _escaping(emit: Emit) -> Emit:
    """Pass text on as the inside of a JSON string."""

    def escape(text: str) -> None:
        emit(encode_basestring(text)[1:-1])

    return escape


_ESCAPED = '"\\' + "".join(map(chr, range(0x20)))
_WORD = re.compile(r"[^\s:=<>(){}\[\],;\"']+")
_LONGEST_KEY = 4096
_LONGEST_DOUBT = 16384
"""Characters in which the real closer has to follow one that seems to be text."""
_SHORT = 2
"""So short texts are no markers."""


_NUMBERED = frozenset({"number", "array", "object"})
"""Types whose values may be or hold a number that is no integer."""


def json_of(
    text: str,
    schema: Part,
    types: frozenset[str] | None,
    arguments: Arguments,
    *,
    quoted: bool,
) -> str:
    """Give the JSON text of a value that is written as this raw text."""
    notation = arguments.values
    string = notation.string
    if quoted or types == frozenset({"string"}):
        return json.dumps(unescape(text, string), ensure_ascii=False)
    if not text.strip() and types is not None:
        for kind, container, empty in (
            ("array", notation.array, "[]"),
            ("object", notation.object, "{}"),
        ):
            if kind in types and not container.empty.strip():
                return empty
    try:
        return json.dumps(read_elements(text, notation, schema), ensure_ascii=False)
    except Unreadable:
        value = typed(text, types, notation)
    if isinstance(value, str):
        if (types is None or types & _NUMBERED) and is_huge(text.strip()):
            return text.strip()
        if types is not None and "string" not in types:
            try:
                value = decode(text, notation)
            except Unreadable:
                value = unescape(text, string)
        else:
            value = unescape(value, string)
    return json.dumps(value, ensure_ascii=False)
