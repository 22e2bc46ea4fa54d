"""Read the raw text of an argument's value up to its closer, or to the text after a lost closer.

`RawReader` looks for stops: the closer, markers, openings of nested elements, beginnings of
entries. The text after a stop decides whether it ends the value (`_Sight`). An undecided stop is
kept as a doubt: the text from the first doubt on stays on the tape until a sure end comes or the
doubt is too old. `raw_value_json` then converts the text to JSON by the schema:

    5</p>  ->  closer `</p>`, text `5`  ->  5, or "5" if the schema says string

Owed to `StreamParser`: text from the first doubt on is not passed on, since it may not belong to
the value.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from functools import cached_property
from json.encoder import encode_basestring

from msgspec import Struct

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import ValueNotation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import TemplateLiteral, differing_parts
from autoparser.lazy_names import lazy_pattern

from .json_text import Emit, QuoteScan, ReadOutcome, ends_in_number, in_json
from .stop_marks import BARS
from .text_lookahead import (
    FoundStop,
    GoesOn,
    MarkupJoints,
    StopTable,
    TextLookahead,
    skip_space,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import IdentityCache
from .value_decoding import (
    STRING_ONLY,
    UnreadableValueError,
    decode_typed,
    decode_value,
    entry_rows,
    is_huge,
    is_value,
    is_written_value,
    read_elements,
)


class ArgumentTexts:
    """The texts around the arguments of a call, by the format and the texts that may follow.

    They are made once for a format; `ArgumentsAround` has what one call adds.
    """

    def __init__(self, arguments: ArgumentFormat, stops: tuple[str, ...], space: str) -> None:
        """Store them as `read_arguments` has them."""
        self.stops = tuple(filter(None, stops))
        self.space = space
        self.rows = entry_rows(arguments)
        self.separator = TemplateLiteral.of(arguments.members.separator)
        self.openings = tuple(dict.fromkeys(TemplateLiteral.of(row.before) for row in self.rows))
        self.leads = arguments.members.entry_leads
        """The texts before the key of an entry that alone end a value, such as a line break."""
        self.key_ends = arguments.members.key_closes
        """The texts between key and value, as the template writes them and without its blanks."""
        self.key_signs = tuple(text for text in self.key_ends if text.strip())
        self.begin = tuple(unit for opening in self.openings for unit in opening.units[:1])
        """The first unit of each opening of an entry."""
        self.behind_closer = (self.separator.core, *self.begin, *self.stops)
        """Texts that may follow the closer of a value."""
        fronts = {re.escape(text[:_SHORT]) for text in self.stops if len(text) > _SHORT}
        self.marks = tuple(text for text in (*self.begin, *self.stops) if len(text) > _SHORT)
        """Texts that begin an entry, or end the arguments, and are longer than a sign."""
        self.broken_closer = re.compile(rf"(?:{'|'.join(sorted(fronts)) or '(?!)'})[^\s<\[{{(]*")
        """The pattern of a piece of markup that begins like a text behind the arguments."""
        begins = tuple(filter(None, (self.separator.core, *self.begin)))
        self.sure_stops = tuple(
            stop
            for stop in self.stops
            if not any(begin.startswith(stop) or stop.startswith(begin) for begin in begins)
        )
        """The stops with which no entry and no separator can begin."""
        self.begun_head = re.compile("(?!)")
        """The pattern of a prefix of an entry up to its value."""
        self.entry_head = self._entry_head(arguments)
        """The pattern of an entry up to its value as the template writes it, with the key as group
        1; None if only a reader can find them."""
        self._keyed = any(row.keyed_close for row in self.rows)
        self._of_values: dict[object, ValueTexts] = {}
        self._values = arguments.values
        string = arguments.values.string
        self._closer = TemplateLiteral.of(string.close + self.rows[0].after).core
        self._close = self._written_close(arguments)
        known = self._close is not None and len(self.openings[0].core) > _SHORT
        same = self._closer == in_json(self._closer).translate(_ONE_BAR)
        self.swallowed = self._closer if known and same else ""
        """The closer in a value that holds another entry, also as JSON; empty if unknown."""
        self._value_end = re.compile(
            rf"{re.escape(self._closer)}\s*(?:{re.escape(self.separator.core)}|[)\]}}])"
        )
        """The pattern of a closer before the end of an entry or, as in `f(a='x')`, of a call."""
        self._key = arguments.members.key
        middles = {unit for row in self.rows for unit in TemplateLiteral.of(row.middle).units[:1]}
        # A string that was swallowed by another string ends with the same closer.
        quote = "" if any(opening.core for opening in self.openings) else string.open.strip()
        self._middles = tuple(middle + quote for middle in middles)

    def _entry_head(self, arguments: ArgumentFormat) -> re.Pattern[str] | None:
        row, opening, key = self.rows[0], self.openings[0], arguments.members.key
        middle = TemplateLiteral.of(row.middle)
        # One pattern serves only if every entry is written alike.
        if len(self.rows) > 1 or self.separator.core or row.keyed_close or row.quote:
            return None
        if key.escape is not StringEscape.VERBATIM or key.open.strip() or key.guard:
            return None
        if not (opening.markers and middle.core) or opening.after or middle.before:
            return None
        if _KEY_SIGN.match(middle.core) or any(
            stop.startswith(opening.core) for stop in self.stops
        ):
            return None
        before, behind = opening.core, middle.core + middle.after
        begun = [re.escape(before[:size]) for size in range(1, len(before))]
        keyed = rf"{re.escape(before)}[\w.-]{{0,{LONGEST_WORD}}}"
        begun += [keyed + re.escape(behind[:size]) for size in range(len(behind))]
        self.begun_head = re.compile("|".join(begun))
        return re.compile(rf"\s*{re.escape(before)}([\w.-]+){re.escape(behind)}")

    def _written_close(self, arguments: ArgumentFormat) -> TemplateLiteral | None:
        """Return the text behind values that stand raw between markers, or None for others."""
        values, after = arguments.values, TemplateLiteral.of(self.rows[0].after)
        string, containers = values.string, (values.array, values.object)
        bare = string.escape is StringEscape.VERBATIM and not (string.open.strip() or string.guard)
        # Elements without brackets around them may have the same closer.
        closed = all(one.open.strip() or one.close.strip() for one in containers)
        return after if self.entry_head and bare and closed and after.markers else None

    @cached_property
    def written(self) -> WrittenValues | None:
        """Finds values that are as the template writes them; None if only a reader can."""
        return None if self._close is None else WrittenValues(self, self._values, self._close)

    @cached_property
    def key_word(self) -> re.Pattern[str]:
        """The pattern of a key that no tool declares, for a format with `leads`."""
        behind = "|".join(map(re.escape, self.key_signs)) or "(?!)"
        return re.compile(rf"(?:(?!{behind}){_KEY_LETTER})+")

    @classmethod
    def of(cls, arguments: ArgumentFormat, stops: Sequence[str], space: str) -> ArgumentTexts:
        """Return the texts around these arguments, made once."""
        key = tuple(stops), space
        return _TEXTS.of((arguments,), key, lambda: cls(arguments, key[0], space))

    def of_value(
        self,
        key: str,
        after: TemplateLiteral,
        nested: str,
        escapes: tuple[str, ...],
        *,
        backslashed: bool,
        entries: bool,
    ) -> ValueTexts:
        """Return the texts around a value, made once, as `RawReader` has them."""
        # Only a close with the key in it differs from key to key.
        if not self._keyed:
            key = ""
        case = key, after.before, after.core, after.after, nested, escapes, backslashed, entries
        found = self._of_values.get(case)
        if found is None:
            found = ValueTexts(
                self, key, after, nested, escapes, backslashed=backslashed, entries=entries
            )
            if len(self._of_values) < _MOST_VALUES:
                self._of_values[case] = found
        return found

    def behind_values(self) -> Iterator[str]:
        """Return the texts that the template writes behind an entry, up to its next marker."""
        lead = self.separator.text
        yield from (f"{lead}{opening.before}{opening.units[0]}" for opening in self.openings)
        yield from (self.space + stop for stop in self.stops)

    def holds_entry(self, text: str, key: str) -> bool:
        """Return whether a key opens an entry in a call's text, but for a letter before it.

        That is the last entry of `<p=a>1</p><q=b>2</p>`, and of `a='1' b='2'` without a separator.
        """
        for middle in self._middles:
            entry = self._key.write(key) + middle
            at = text.find(entry)
            while at >= 0:
                if self._leads_to_key(text, at, at + len(entry)):
                    return True
                at = text.find(entry, at + 1)
        return False

    def _leads_to_key(self, whole: str, at: int, behind_entry: int) -> bool:
        """Return whether a closer of values and almost what leads to a key precede an offset.

        The key's value begins at `behind_entry`.
        """
        # A text may have many such keys, so it is not copied for each.
        text = whole[max(0, at - LONGEST_WORD) : at]
        for core in (opening.core for opening in self.openings):
            if len(core) > _SHORT:
                found, wanted = text.translate(_ONE_BAR), core.translate(_ONE_BAR)
                _, closed, lead = found.rpartition(self._closer.translate(_ONE_BAR))
                lead = lead.lstrip()
                more, missing = differing_parts(lead, wanted)
                # A letter behind the opener begins a longer key.
                longer = lead.startswith(wanted) and _KEY_SIGN.match(more) is not None
                exact = lead == wanted and text.endswith(core)
                near = not more or max(len(more), len(missing)) <= 1
                if closed and near and not (longer or exact):
                    return True
            elif self.separator.core and self._closer and not core:
                value, _, behind = text.rpartition(self._closer)
                sign = behind.strip()
                wrong = len(sign) <= 1 and not sign.isalnum() and sign != self.separator.core
                # Behind one of these signs, a quote opens a value. Markup in a string goes on.
                if wrong and value.strip()[-1:] not in tuple("=([{,:"):
                    end = whole.find(self._closer, behind_entry)
                    return end >= 0 and self._value_end.match(whole, end) is not None
        return False

    def entry_signs(self) -> Iterator[str]:
        """Return the beginnings of the next entry if entries have no marker."""
        for opening in self.openings:
            sign = opening.core or self.separator.core
            if len(sign) <= _SHORT or not opening.core:
                # The closer of an entry may repeat its key and end with a marker.
                tails = {"", *(row.end.strip()[1:] for row in self.rows)}
                yield from (f"{tail}{sign}" for tail in sorted(tails))


_KEY_LETTER = r"[^\s<>(){}\[\]\"'`,;]"
_KEY_SIGN = lazy_pattern(r"[\w.-]")
LONGEST_WORD = 256
"""Characters of a key within which the text before a value is waited for as a whole."""
_TEXTS: IdentityCache[ArgumentTexts] = IdentityCache(256)
_ONE_BAR = str.maketrans(dict.fromkeys(BARS, "|"))
_MOST_VALUES = 256
"""Keys are texts of models where an entry ends with its key: so many are kept."""


class ArgumentsAround:
    """The arguments around a value, as far as they are known."""

    def __init__(
        self,
        tape: TextTape,
        arguments: ArgumentFormat,
        schema: SchemaPart,
        stops: Sequence[str],
        emit: Emit,
        space: str,
        goes_on: GoesOn,
    ) -> None:
        """Store them as `read_arguments` has them; no value was read yet."""
        self.tape, self.arguments, self.emit_json = tape, arguments, emit
        self.schema = schema
        open_ = self.schema.invites_other_names
        self.names: frozenset[str] = frozenset() if open_ else self.schema.names
        texts = self.texts = ArgumentTexts.of(arguments, stops, space)
        self.stops, self.rows, self.separator = texts.stops, texts.rows, texts.separator
        self.openings, self.goes_on = texts.openings, goes_on
        self.seen_keys: set[str] = set()
        """The keys read so far."""
        self.unclosed = False
        """Whether the text was seen to its end, and no value closes in it any more."""
        self.repaired = False


class _Stop(Enum):
    """The kind of a text that is searched for in a value."""

    CLOSER = auto()
    """The text that closes the value, or that comes after it if it has no closer."""
    MARKER = auto()
    """A marker that ends a value whose closer is missing."""
    OPENING = auto()
    """The opening of an element in the value that has the same closer as the value."""
    ESCAPE = auto()
    """A text that stands for a character and contains the closer."""
    ESCAPED = auto()
    """A closer with a backslash before it, in a notation that escapes nothing."""
    HALF = auto()
    """A closer without its last sign."""
    ENTRY = auto()
    """The beginning of the next entry if it is not a marker: a separator, or a short sign."""


class _Sight(Enum):
    """The meaning of a stop, judged by the text that follows it."""

    END = auto()
    """The value ends before it."""
    TEXT = auto()
    """It is part of the value."""
    QUOTED = auto()
    """A closer in a string or an element: it ends the value if that never closes."""
    DOUBT = auto()
    """A marker, or a closer without a separator: it ends the value if no other closer comes."""
    CLOSED = auto()
    """A closer of the call before other text: it ends the value if no closer comes."""
    ENTRY = auto()
    """The opening of an entry of a declared key: it ends the value if no closer comes."""


# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_CLOSER, _ESCAPED, _HALF = _Stop.CLOSER, _Stop.ESCAPED, _Stop.HALF
_ESCAPE, _MARKER, _OPENING = _Stop.ESCAPE, _Stop.MARKER, _Stop.OPENING
_END, _TEXT, _DOUBT, _QUOTED = _Sight.END, _Sight.TEXT, _Sight.DOUBT, _Sight.QUOTED
_COMPLETE, _CUT, _REPAIRED = ReadOutcome.COMPLETE, ReadOutcome.CUT, ReadOutcome.REPAIRED
_MARKUP, _ARGUMENTS = SpanKind.MARKUP, SpanKind.ARGUMENTS


class ValueTexts:
    """The texts that may end a raw value, or stand in it, by the format alone."""

    def __init__(
        self,
        texts: ArgumentTexts,
        key: str,
        after: TemplateLiteral,
        nested: str,
        escapes: tuple[str, ...],
        *,
        backslashed: bool,
        entries: bool,
    ) -> None:
        """Compile the stops of a value; with `entries` another entry may follow."""
        self.closes = tuple(key + row.end.strip()[:1] for row in texts.rows if row.keyed_close)
        """Texts that follow the closer if an entry ends with its key."""
        opens = [opening.core for opening in texts.openings if opening.core]
        # Without a closer, a value ends at the separator or at the text after the arguments.
        closers = [after.core] if after.core else [texts.separator.core, *texts.stops]
        stops = [("", nested, _Stop.OPENING)]
        space = after.before if after.core else texts.space
        stops += [(space, text, _Stop.CLOSER) for text in closers]
        if not after.core and not texts.separator.core:
            # Only the beginning of the next entry ends the value.
            stops += [("", text, _Stop.CLOSER) for text in texts.leads]
            opens = [] if texts.leads else opens
            stops += [(texts.separator.text, text, _Stop.CLOSER) for text in opens]
        self.between = after.after + texts.separator.text + texts.openings[0].before
        """Whitespace and separator that the template writes between a closer and an entry."""
        if after.core and not escapes:
            # A value without its closer ends before the next marker, and before the text that the
            # template writes between closer and marker.
            # A turn may end with the text that closes an argument: that is the closer here.
            closer = after.core + key if self.closes else after.core
            others = [text for text in (*texts.stops, *opens) if not text.startswith(closer)]
            markers = (text for text in others if len(text) > _SHORT)
            stops += [(after.before + self.between, text, _Stop.MARKER) for text in markers]
        # Models leave out the last sign of a closer, as in `</parameter` before a line break.
        half = after.first.rstrip(">]}|)").rstrip() if after.is_marked else ""
        if half != after.first and any(map(str.isalnum, half)):
            stops.append((after.before, half, _Stop.HALF))
        if after.core and entries and not nested:
            stops += [("", text, _Stop.ENTRY) for text in texts.entry_signs()]
        stops += [("", text, _Stop.ESCAPE) for text in escapes]
        if backslashed and after.units:
            stops += [("", "\\", _Stop.ESCAPE), ("", "\\\\", _Stop.ESCAPE)]
            stops += [("", f"\\{after.units[0]}", _Stop.ESCAPED)]
        self.stops = StopTable(stops)
        is_plain = not (escapes or nested or backslashed) and texts.entry_head is not None
        joints = texts.behind_values() if is_plain else ()
        # At the last character the reader decides that the value has ended.
        self.joints = MarkupJoints(f"{after.text}{joint[:-1]}" for joint in joints)


def value_ends(
    texts: ArgumentTexts, after: TemplateLiteral
) -> Callable[[str, int], tuple[int, int] | None]:
    """Return a search for the end of a raw value and of its closer.

    It returns None if only a reader can tell.
    """
    stops = texts.of_value("", after, "", (), backslashed=False, entries=False).stops

    def ends(text: str, at: int) -> tuple[int, int] | None:
        found = stops.find(text, at)
        if found is None or found.label is not _CLOSER:
            return None
        if not text.startswith(after.core, found.start):
            return None
        return stops.written_before(text, found, at), found.end

    return ends


class WrittenValues:
    r"""Raw values between markers that have no sign of a marker in them, such as `3\n</parameter>`.

    One match finds such a value, with its closer and a text that follows one.
    """

    def __init__(self, texts: ArgumentTexts, values: ValueNotation, after: TemplateLiteral) -> None:
        """Compile the pattern of a value before `after`."""
        self.after, self._values = after, values
        self._behind = tuple(filter(None, texts.behind_closer))
        self._fronts = {text[:size] for text in self._behind for size in range(len(text))}
        stops = texts.of_value("", after, "", (), backslashed=False, entries=False).stops
        self._sign = stops.firsts
        self.up_to = stops.up_to(after.core).pattern
        """The pattern of a value with its closer."""
        ends = "|".join(map(re.escape, self._behind))
        self._whole = re.compile(rf"{self.up_to}(?=\s*(?:{ends}))").match

    def ends(self, text: str, at: int) -> tuple[int, int] | None:
        """Return the end of a value at an offset, and of its closer, or None if it is not here."""
        match = self._whole(text, at)
        space, core = self.after.before, self.after.core
        if match is None:
            return None
        behind = match.end()
        end = behind - len(core)
        return (end - len(space), behind) if text.endswith(space, at, end) else None

    def may_come(self, text: str, at: int) -> bool:
        """Return whether more text may show that a short value ends as `ends` finds it."""
        rest = text[at : at + LONGEST_WORD]
        sign, core = self._sign.search(rest), self.after.core
        if sign is None or len(rest) == LONGEST_WORD:
            return len(rest) < LONGEST_WORD
        rest = rest[sign.start() :]
        if not rest.startswith(core):
            return core.startswith(rest)
        behind = rest[len(core) :].lstrip()
        # The first of several texts that is whole decides.
        return behind in self._fronts and not behind.startswith(self._behind)

    def json(self, text: str, part: SchemaPart) -> str | None:
        """Return the JSON text of a value, or None if only a reader can judge it."""
        kinds = part.kinds
        # Most of these values are a few digits.
        if kinds and _is_count(text, kinds, self._values):
            return text
        read = raw_value_json(text, part, kinds, self._values, quoted=False)
        # A quoted closer would be part of the value, which would then have to be complete.
        text_like = read.json[0] == '"' and _LITERAL.search(text)
        return read.json if read.own and not text_like else None


_LITERAL = lazy_pattern(r"[\"'({\[]")
"""Signs with which a closer may be part of a value."""


class _Doubt(Struct, frozen=True):
    """A place where the value may have ended; offsets in all text that was fed."""

    start: int
    """The offset of the stop, e.g. 96."""
    cut: int
    """The offset at which the value ends if the stop ends it, e.g. 96."""
    sight: _Sight
    """The evidence at the time, e.g. `_Sight.DOUBT`, which may change with more text."""


class RawReader:
    r"""Reads the text of one value up to its closer, or to the text after a missing closer.

    In `<p=a>\nUse <call> to call\n</p>` no call begins: the marker is in doubt until the closer
    comes, which makes it text. In `<p=a>\nx\n<p=b>` an entry follows, so the first one ends before
    it. In `<a><a>1</a></a>` the first closer is the inner element's.
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
        backslashed: bool = False,
        may_be_text: bool = True,
        nested: str = "",
    ) -> None:
        """Prepare to read up to `after`; the text goes to `emit` as it comes, or to `pieces`.

        `escapes` are texts that contain the closer and stand for a character. A `quoted` value is
        a string, whatever it looks like; in a `backslashed` one a backslash may stand before a
        quote, and from the first backslash on its text goes to `pieces`. A value that `may_be_text`
        has the type of a string, among others. `nested` opens an element in the value that has the
        same closer as the value.
        """
        self.around, self.key, self.after = around, key, after
        self.nests, self.quoted, self.may_be_text = bool(nested), quoted, may_be_text
        self.depth = 0
        """Number of open elements in the value that have its closer."""
        self.pieces: list[str] = []
        buffers = emit is None and not quoted
        self.quotes = QuoteScan(around.arguments.values) if buffers else None
        """Follows the strings of an array or object; None for a value that is a string."""
        self.doubts: deque[_Doubt] = deque()
        """Undecided stops; the text from the first on stays on the tape."""
        self.take: Emit = self.pieces.append
        if emit is not None:
            self.take = lambda text: emit(encode_basestring(text)[1:-1])
        texts = around.texts.of_value(
            key,
            after,
            nested,
            tuple(escapes),
            backslashed=backslashed,
            entries=not around.schema.names <= around.seen_keys,
        )
        self._closes, self.between, self.stops = texts.closes, texts.between, texts.stops
        self.joints = texts.joints
        written = None if emit is None else around.texts.written
        self.written = None if written is None or written.after != after else written
        """Finds the end of a value that is passed on as it comes, if it is as written."""
        self.backslashed = backslashed
        self.held = False
        """Whether a backslash has come, so that the text is not passed on before it is whole."""
        self.emit = emit
        self.looked = self.scanned = around.tape.position

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The keys of `missing`, each with the text up to its value."""
        return tuple(self.around.arguments.members.key_heads(sorted(self.missing)))

    @property
    def missing(self) -> frozenset[str]:
        """Declared keys that were not given yet."""
        return self.around.schema.names - self.around.seen_keys

    def read(self) -> Reading[ReadOutcome]:
        """Take the text and leave the closer; return REPAIRED if the closer is missing.

        A closer inside a string of an array or object is text if the value is whole later on.
        """
        tape, stops = self.around.tape, self.stops
        while True:
            if self.written is not None and not (self.doubts or tape.closed):
                ends = self.written.ends(tape.text, tape.at)
                if ends is not None:
                    self._pass(ends[0])
                    return _COMPLETE
            found = stops.find(tape.text, max(tape.at, self.looked - tape.offset))
            if found is not None and not tape.closed and stops.unsure(tape.text, found, tape.at):
                # A longer stop may begin earlier and contain this one.
                begun = stops.safe(tape.text, tape.at)
                self._leave(min(begun, stops.written_before(tape.text, found, tape.at)))
                yield
                continue
            if self.doubts and self._too_far(found):
                return _COMPLETE
            if found is None:
                if tape.closed:
                    return self._at_end()
                looked = max(tape.at, self.looked - tape.offset)
                end = stops.safe(tape.text, looked)
                self.looked = tape.offset + end
                # A lead that is text may yet be the whitespace before another stop.
                self._leave(stops.safe(tape.text[:end], tape.at) if end == looked else end)
                if not self.doubts and not self.held:
                    emit, quote = self.emit, None if self.emit is None else encode_basestring
                    take, joint = emit or self._keep, self.joints.begun
                    tape.pass_by(stops.lane(_ARGUMENTS, take, quote=quote, begun=joint))
                yield
                continue
            sight = yield from self._judge_stop(found)
            if sight is not None:
                return sight

    def _judge_stop(self, stop: FoundStop[_Stop]) -> Reading[ReadOutcome | None]:
        """Judge a stop; return the outcome if it ends the value, or None."""
        tape = self.around.tape
        start, size = tape.offset + stop.start, stop.end - stop.start
        cut = tape.offset + self.stops.written_before(tape.text, stop, tape.at)
        self._leave(cut - tape.offset)
        # Whether backslashes are escapes is known only from the whole text.
        if self.backslashed and tape.text[stop.start] == "\\":
            self.held, self.take = True, self.pieces.append
            cut += stop.label is _ESCAPED
        quoted = self.quotes is not None and self._in_string(self.quotes, start)
        sight = yield from self._sight(stop.label, start, size, cut, quoted=quoted)
        # In a closer that is text, the real one may begin.
        self.looked = start + (1 if stop.label in _TRIED_AGAIN else size)
        if sight is _END or (sight in _DOUBTED and self.around.unclosed):
            closed = stop.label in (_CLOSER, _ESCAPED)
            outcome = _COMPLETE if closed else _REPAIRED
            outcome = self._close(cut, outcome, start + size if stop.label is _HALF else cut)
            if stop.label is _HALF and tape.position == cut:
                tape.take(start + size - cut, _MARKUP)
                yield from skip_space(tape)
            return outcome
        if sight is not _TEXT:
            self.doubts.append(_Doubt(start, cut, sight))
        return None

    def _sight(
        self, label: _Stop, start: int, size: int, cut: int, *, quoted: bool
    ) -> Reading[_Sight]:
        """Return the meaning of a stop; `cut` is the offset at which the value ends if it does."""
        tape = self.around.tape
        if label is _CLOSER:
            return (yield from self._end(start, size, quoted=quoted))
        if label is _ESCAPE or quoted:
            return _TEXT
        if label is _HALF:
            return (yield from self._half(TextLookahead(tape, start + size)))
        if label is _ESCAPED:
            ends = yield from self._ends_at_escaped(TextLookahead(tape, start + size))
            return _END if ends else _TEXT
        if label is _OPENING:
            self.depth += 1
            return _DOUBT
        if label is _MARKER:
            return (yield from self._marker(start, cut))
        return (yield from self._declared_entry(TextLookahead(tape, start + size)))

    def _end(self, start: int, size: int, *, quoted: bool) -> Reading[_Sight]:
        """Return the meaning of a closer, or of a text that comes behind a value without one."""
        tape, around = self.around.tape, self.around
        if self.after.core:
            ahead = TextLookahead(tape, start + size)
            sight = yield from self._closer(ahead)
            if sight is _TEXT and not (quoted or self._closes or self.nests):
                # If no closer follows later, this one ends the value after all.
                sight = _DOUBT
        else:
            text = tape.text[start - tape.offset : start - tape.offset + size]
            if text in around.texts.leads:
                ends = yield from self._written_entry(start + size, text)
            else:
                ends = text in around.stops or (yield from self._entry(TextLookahead(tape, start)))
            sight = _END if ends else _TEXT
        nested = self.depth > 0
        if nested and (sight is not _TEXT or not self._closes):
            self.depth -= 1
        if sight is _TEXT:
            return sight
        return _QUOTED if quoted or nested else sight

    def _marker(self, start: int, cut: int) -> Reading[_Sight]:
        """Return the meaning of a marker without a closer before it."""
        around = self.around
        ahead = TextLookahead(around.tape, start)
        for opening in around.openings:
            core = opening.core
            if core and core not in around.stops and (yield from ahead.text(core)):
                key = yield from self._next_key(ahead)
                if key is None:
                    # The opening is a word of the text, or a sign that also begins a closer.
                    ends = yield from around.goes_on(TextLookahead(around.tape, start))
                    return _END if ends else _TEXT
                apart = not self.between[-1:].isspace() or cut < start
                if not apart and key in around.names:
                    # A key that the tool declares opens an entry in a line, too, but not in prose.
                    apart = not (yield from ahead.among((" ", "\t")))
                ends = apart and key not in around.seen_keys and not self.nests and not self.quoted
                return _END if ends else _DOUBT
        # The text after the marker shows whether the call goes on as a call does.
        after = yield from around.goes_on(ahead)
        return {None: _Sight.CLOSED, True: _END, False: _DOUBT}[after]

    def _half(self, ahead: TextLookahead) -> Reading[_Sight]:
        """Return the meaning of half a closer: it is text unless what may follow one comes next.

        Before a whole one it is text: the template writes such a value.
        """
        around = self.around
        yield from ahead.space()
        if (yield from ahead.ended()):
            return _END if around.tape.complete else _TEXT
        follows = (*around.stops, *(opening.core for opening in around.openings))
        return _TEXT if (yield from ahead.among(follows)) is None else _END

    def _ends_at_escaped(self, ahead: TextLookahead) -> Reading[bool]:
        r"""Return whether a value ends with a backslash: all that may follow a closer comes.

        In `'the \'red\' one, label=\'a\''` no key is declared, or its value is escaped, too.
        """
        around = self.around
        yield from ahead.space()
        if (yield from ahead.among(around.stops)) is not None:
            return True
        if not around.separator.core or not (yield from ahead.row((around.separator.core,))):
            return False
        key = yield from self._next_key(ahead)
        return key in around.schema.names and not (yield from ahead.text("\\"))

    def _declared_entry(self, ahead: TextLookahead) -> Reading[_Sight]:
        """Return whether an entry of a declared key begins here, judged by its value.

        In `a:<q>x,b:<q>y<q>` the quote after `b:` is not a closer, because `y` follows it. In
        `a:<q>x,b:3<q>` a closer comes, so `,b:3` is text.
        """
        around = self.around
        yield from ahead.space()
        if (yield from ahead.among(self.missing)) is None:
            return _TEXT
        yield from ahead.space()
        middles = [unit for row in around.rows for unit in TemplateLiteral.of(row.middle).units[:1]]
        if (yield from ahead.among(middles)) is None:
            return _TEXT
        string = around.arguments.values.string
        quote, close = string.open.strip(), string.close.strip()
        yield from ahead.space()
        if not self.quoted or not quote or not (yield from ahead.text(quote)):
            return _Sight.ENTRY
        if quote == close and (yield from self._closer(ahead)) is not _TEXT:
            return _TEXT
        return _END

    def _close(self, end: int, outcome: ReadOutcome, behind: int) -> ReadOutcome:
        """End the value at `end`, or at an earlier doubt if it is not whole at `end`.

        Up to `behind`, a text after the closer may be a broken closer.
        """
        tape = self.around.tape
        repaired = outcome is _REPAIRED
        closer = self._closer_before(behind) if repaired and self.doubts else None
        if closer is not None:
            self._pass(closer.cut - tape.offset)
            return _COMPLETE
        tried = (_QUOTED, _DOUBT) if self.nests and repaired else (_QUOTED,)
        # Decoding the text is costly, so it is tried only if an earlier end is at hand.
        may_break = any(doubt.sight in tried for doubt in self.doubts)
        broken = may_break and not self._is_whole(self._until(end - tape.offset))
        for doubt in self.doubts:
            if (broken and doubt.sight in tried) or (doubt.sight in _UNCLOSED and repaired):
                self._pass(doubt.cut - tape.offset)
                quoted = doubt.sight is _QUOTED
                return _COMPLETE if quoted else _REPAIRED
        self._pass(end - tape.offset)
        return outcome

    def _closer_before(self, end: int) -> _Doubt | None:
        """Return the closer that comes last if only a broken closer is between it and `end`."""
        tape, core, doubt = self.around.tape, self.after.core, self.doubts[-1]
        at = doubt.start - tape.offset
        if not core or not tape.text.startswith(core, at):
            return None
        between = tape.text[at + len(core) : end - tape.offset].strip()
        return doubt if self.around.texts.broken_closer.fullmatch(between) else None

    def _in_string(self, quotes: QuoteScan, start: int) -> bool:
        """Return whether an offset is inside a string of an array or object."""
        tape = self.around.tape
        begin = max(self.scanned, tape.position) - tape.offset
        quotes.read(tape.text[begin : start - tape.offset])
        self.scanned = max(self.scanned, start)
        return quotes.inside("")

    def _too_far(self, stop: FoundStop[_Stop] | None) -> bool:
        """Return whether a doubtful closer ends the value, as no other came; markers are text."""
        tape = self.around.tape
        seen = tape.offset + (len(tape.text) if stop is None else stop.start)
        # A stream must not be held forever by one quoted closer.
        wait = _LONGEST_DOUBT + (_LONGEST_KEY if stop is None else 0)
        while self.doubts and seen - self.doubts[0].start > wait:
            if self.doubts[0].sight is _QUOTED:
                self._pass(self.doubts[0].cut - tape.offset)
                return True
            self.doubts.popleft()
            if self.doubts:
                self._pass(self.doubts[0].cut - tape.offset)
        return False

    def _until(self, end: int) -> str:
        """Return the text of the value up to `end`."""
        tape = self.around.tape
        return "".join(self.pieces) + tape.text[tape.at : end]

    def _is_whole(self, text: str) -> bool:
        """Return whether a text can be decoded as a value."""
        notation = self.around.arguments.values
        try:
            read_elements(text, notation, SchemaPart.of(True))
        except UnreadableValueError:
            return is_value(text, notation)
        return True

    def _leave(self, end: int) -> None:
        """Take the text up to `end` unless there is a doubt before it."""
        if not self.doubts:
            self._pass(end)

    def _pass(self, end: int) -> None:
        tape = self.around.tape
        if end > tape.at:
            if self.quotes is not None and self.scanned < tape.offset + end:
                begin = max(self.scanned - tape.offset, tape.at)
                self.quotes.read(tape.text[begin:end])
                self.scanned = tape.offset + end
            self.take(tape.take(end - tape.at, _ARGUMENTS))

    def _keep(self, text: str) -> None:
        """Store a piece that bypasses the reader."""
        self.take(text)
        if self.quotes is not None:
            self.quotes.read(text)
            self.scanned = self.around.tape.position

    def _at_end(self) -> ReadOutcome:
        """Take the rest of the text: whole if only its closer may be missing, else cut."""
        tape = self.around.tape
        if not tape.complete:
            # Leave the beginning of a possible closer, as if more text could follow.
            at = max(tape.at, self.looked - tape.offset)
            self._pass(max(tape.at, self.stops.safe(tape.text, at)))
            return _CUT
        if self.doubts:
            first = self.doubts[0]
            self.around.unclosed = True
            self._pass(first.cut - tape.offset)
            return _COMPLETE if first.sight is _QUOTED else _REPAIRED
        begun = self._begun_closer()
        rest = len(tape.text) - begun
        # Without its own closer, only the text after the arguments shows its end.
        ends = self._ends_alone(rest) if self.after.core else not any(self.around.texts.stops)
        if not (begun or tape.bounded or ends):
            # More of the value may be missing, and not its closer alone.
            self._pass(rest)
            return _CUT
        # The whitespace before the closer that never came is the template's.
        for char in reversed(self.after.before):
            if rest > tape.at and tape.text[rest - 1] == char:
                rest -= 1
        self._pass(rest)
        tape.take(tape.left(), _MARKUP)
        return _REPAIRED

    def _ends_alone(self, end: int) -> bool:
        """Return whether the text up to `end` is a value that ends by its quotes or brackets."""
        text = self._until(end)
        return self.quotes is not None and not ends_in_number(text) and self._is_whole(text)

    def _begun_closer(self) -> int:
        """Return the length of the front of a marked closer in which the text ends."""
        tape, closer = self.around.tape, self.after.first
        fronts = range(len(closer) - 1, _SHORT, -1) if self.after.is_marked else ()
        text = tape.text[tape.at :]
        return next((size for size in fronts if text.endswith(closer[:size])), 0)

    def _entry(self, ahead: TextLookahead) -> Reading[bool]:
        """Return whether the next entry begins here; true if no entry opens with this text."""
        for opening in self.around.openings:
            core = opening.core
            if core and core not in self.around.stops and (yield from ahead.text(core)):
                return (yield from self._next_key(ahead)) is not None
        return True

    def _written_entry(self, at: int, lead: str) -> Reading[bool]:
        """Return whether an entry, of which `lead` was read, begins here with its key.

        A string may as well hold a key that the tool does not declare, or that was given already:
        it does, as a repair.
        """
        around = self.around
        # Between two blanks, any word would be a key.
        signs = around.texts.key_ends if lead.strip() else around.texts.key_signs
        if (yield from TextLookahead(around.tape, at).among(self.heads)) is not None:
            return True
        ahead = TextLookahead(around.tape, at)
        key = yield from ahead.word(around.texts.key_word, _LONGEST_KEY)
        if not key or (yield from ahead.among(signs)) is None:
            return False
        is_entry = not self.may_be_text or not (around.names or key in around.seen_keys)
        around.repaired = around.repaired or not is_entry
        return is_entry

    def _closer(self, ahead: TextLookahead) -> Reading[_Sight]:
        """Return the meaning of a closer by the text after it: TEXT if that cannot follow a closer.

        A key without the separator before it is accepted if no other closer comes.
        """
        around = self.around
        begin, wanted = around.texts.begin, self._closes or around.texts.behind_closer
        if ahead.is_before(wanted):
            return _END
        yield from ahead.space()
        if (yield from ahead.ended()) or (yield from ahead.among(wanted)) is not None:
            return _END
        if ahead.short and not around.tape.complete:
            # The output is truncated inside a text that may follow.
            return _END
        keyed = TextLookahead(around.tape, around.tape.offset + ahead.at)
        # Where entries begin with their key, only the key shows the next one.
        if not begin and (yield from self._next_key(keyed)) is not None:
            return _DOUBT if around.separator.core else _END
        # Only the front of the call's closer may be there.
        if (yield from ahead.among(begun_stops(around.stops))) is None:
            return _TEXT
        yield from ahead.space()
        return _END if (yield from ahead.ended()) else _Sight.CLOSED

    def _next_key(self, ahead: TextLookahead) -> Reading[str | None]:
        """Return the next key if the text that leads to its value follows it, or None."""
        around = self.around
        yield from ahead.space()
        key = yield from ahead.word(_WORD, _LONGEST_KEY)
        if not key or (around.names and key not in around.names):
            return None
        # Whitespace follows any word, so it proves no entry; the key has to be enough.
        if any(row.middle.isspace() for row in around.rows):
            return None if (yield from ahead.ended()) else key
        yield from ahead.space()
        middles = [unit for row in around.rows for unit in TemplateLiteral.of(row.middle).units[:1]]
        return None if (yield from ahead.among(middles)) is None else key


def begun_stops(stops: Sequence[str]) -> tuple[str, ...]:
    """Return the signs before the markers of stops, such as the brace of `}</call>`."""
    fronts = (TemplateLiteral.of(stop).units[0] for stop in stops)
    return tuple(dict.fromkeys(front for front in fronts if front not in stops))


_WORD = lazy_pattern(r"[^\s:=<>(){}\[\],;\"']+")
_TRIED_AGAIN = (_CLOSER, _Stop.MARKER)
"""Stops within which another stop may begin."""
_DOUBTED = (_DOUBT, _Sight.ENTRY)
"""Meanings that end a value once closers are known to be missing."""
_UNCLOSED = (_Sight.CLOSED, _Sight.ENTRY)
"""Meanings that end a value that no closer of its own ends."""
_LONGEST_KEY = 4096
_LONGEST_DOUBT = 16384
"""Characters after a doubtful stop within which the text that decides has to come."""
_SHORT = 2
"""Up to this many characters a text is not a marker."""


_COUNTED = frozenset({"integer", "number"})
_COUNT = lazy_pattern(r"[1-9][0-9]{0,14}|0")
_NUMBERED = frozenset({"number", "array", "object"})
"""JSON types whose values may be or contain a number that is not an integer."""


def _is_count(text: str, types: frozenset[str], notation: ValueNotation) -> bool:
    """Return whether a text is digits for a number, which every notation writes as JSON does."""
    if not types <= _COUNTED or _COUNT.fullmatch(text) is None:
        return False
    return text not in (notation.true, notation.false, notation.null)


class ReadValue(Struct):
    """The value that a raw text is written for."""

    json: str
    """JSON text, such as `"Oslo"`."""
    own: bool
    """Whether the format writes this text for the value, or JSON or Python do, e.g. True for `3` as
    3."""


def raw_value_json(
    text: str,
    schema: SchemaPart,
    types: frozenset[str] | None,
    notation: ValueNotation,
    *,
    quoted: bool,
) -> ReadValue:
    """Return the value that a raw text is written for."""
    string = notation.string
    if quoted or types == STRING_ONLY:
        return _string_of(text, string, quoted=quoted)
    # Most numbers are a few digits: these need no decoding.
    if types and _is_count(text, types, notation):
        return ReadValue(text, own=True)
    if not text.strip() and types is not None:
        for kind, container, empty in (
            ("array", notation.array, "[]"),
            ("object", notation.object, "{}"),
        ):
            if kind in types and not container.empty.strip():
                return ReadValue(empty, own=True)
    try:
        value, own = read_elements(text, notation, schema)
        return ReadValue(json.dumps(value, ensure_ascii=False), own)
    except UnreadableValueError:
        names = schema.document.signed_names
        value = decode_typed(text, types, notation, names)
    if isinstance(value, str):
        if (types is None or types & _NUMBERED) and is_huge(text.strip()):
            return ReadValue(text.strip(), own=True)
        if types is None or "string" in types:
            return _string_of(value, string, quoted=False)
        value = _of_other_type(text, types, notation)
    own = is_written_value(text, notation, names) or (
        isinstance(value, str) and _is_bare(text, string)
    )
    return ReadValue(json.dumps(value, ensure_ascii=False), own)


def _string_of(text: str, string: StringText, *, quoted: bool) -> ReadValue:
    own = string.has_written(text) if quoted else _is_bare(text, string)
    return ReadValue(json.dumps(string.read(text), ensure_ascii=False), own)


def _is_bare(text: str, string: StringText) -> bool:
    """Return whether the format quotes no strings, and writes this text for one."""
    return not string.open.strip() and string.has_written(text)


def _of_other_type(text: str, types: frozenset[str], notation: ValueNotation) -> Json:
    """Return the value of a text that fits none of `types`, which lack "string".

    `types` is empty if the schema says string only and the text is without quotes: then a bare
    literal other than null is its text.
    """
    try:
        value = decode_value(text, notation)
    except UnreadableValueError:
        return notation.string.read(text)
    return value if types or value is None or isinstance(value, str) else text
