"""Read JSON as models write it, and find where a value ends by its own brackets and quotes.

`read_json` copies a value from the tape to `emit`: valid JSON passes byte for byte, Python's
literals and quotes become JSON's, and missing closers are added where the value has an end:

    {'a': True, 'b': [1   ->   {"a": true, "b": [1]}

Scans look for an end only: `BracketScan` for that of any value, `LiteralScan` for that of a quoted
string, `QuoteScan` for whether an offset is inside a string. They look at each character once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import Enum, StrEnum, auto
from json.encoder import encode_basestring
from typing import TypeAlias

from msgspec import Struct
from msgspec.json import Decoder

from autoparser.analysis.core.call_notation import ValueNotation
from autoparser.analysis.core.string_notation import StringEscape
from autoparser.lazy_names import lazy_pattern

from .text_lookahead import GoesOn, TextLookahead, at_any, ends_nowhere
from .text_tape import LaneSearch, Reading, SpanKind, TextLane, TextTape
from .turn_request import IdentityCache

# Scans for the end of a value.


def string_quotes(notation: ValueNotation) -> tuple[dict[str, str], frozenset[str]]:
    """Return the closing quote by opening quote, of strings at the top or inside a container.

    The second part has the closing quotes that a backslash before them makes text.
    """
    inner = (notation, notation.array.values, notation.object.values)
    strings = [notation.string for notation in inner if notation is not None]
    pairs = ((text.open.strip(), text.close.strip()) for text in strings)
    # A string without both quotes encloses nothing.
    quotes = {opening: close for opening, close in pairs if opening and close}
    escaped = {text.close.strip() for text in strings if text.escape in _BACKSLASHED}
    if any(text.escape is StringEscape.PYTHON for text in strings):
        quotes |= {"'": "'", '"': '"'}
        escaped |= {"'", '"'}
    return quotes, frozenset(escaped)


_BACKSLASHED = frozenset(
    {StringEscape.JSON, StringEscape.JSON_ASCII, StringEscape.JSON_HTML, StringEscape.PYTHON}
)


class BracketScan:
    """Finds the end of one value as its text comes in."""

    def __init__(
        self,
        notation: ValueNotation,
        ends: Sequence[str],
        *,
        literal: bool = False,
        foreign: bool = False,
    ) -> None:
        """Store the brackets and quotes of a notation, and the texts that end a value.

        A `literal` may be in quotes itself. Strings may also have `foreign` quotes, those of
        Python.
        """
        self._quotes, self._escaped = string_quotes(notation)
        self._foreign = {quote: quote for quote in "'\"" if foreign and quote not in self._quotes}
        self._quotes |= self._foreign
        self._escaped |= {*self._foreign}
        string = notation.string
        self._bare = not (literal or string.open.strip() or string.escape is StringEscape.PYTHON)
        """Whether strings are bare: quotes and brackets are text except at the very beginning."""
        self._opens = {
            container.open.strip()
            for container in (notation.array, notation.object)
            if container.open.strip()
        }
        self._closes = {
            container.close.strip()
            for container in (notation.array, notation.object)
            if container.close.strip()
        }
        self._ends = frozenset(ends)
        quotes = {*self._quotes, *self._quotes.values()}
        self._words = {*quotes, *self._opens, *self._closes, *ends}
        words = sorted(self._words, key=len, reverse=True)
        self._pattern = re.compile("|".join([r"\\.", *map(re.escape, words)]), re.DOTALL)
        self._longest = max(2, *map(len, words))
        self._depth = 0
        self._quoted = ""
        self._scan_size = 0
        self.passed: int | None = None
        """Offset in the value of the first end inside an open bracket or quote; None if none."""

    @property
    def in_foreign_quote(self) -> bool:
        """Whether a foreign quote has opened that did not close."""
        return self._quoted in self._foreign

    def end_of(self, text: str, start: int, *, closed: bool) -> int | None:
        """Return the length of the value, or None if its end is unknown."""
        quotes, ends, search = self._quotes, self._ends, self._pattern.search
        # A word may be cut at the end of a piece, so the last characters wait for more text.
        limit = len(text) if closed else len(text) - self._longest + 1
        at = start + self._scan_size
        while True:
            match = search(text, at)
            if match is None or match.start() >= limit:
                self._scan_size = max(self._scan_size, limit - start, 0)
                return None
            word = match.group()
            # If the bracket never closes, this first end is the better guess.
            if word in ends and (self._depth or self._quoted) and self.passed is None:
                self.passed = match.start() - start
            if self._quoted:
                closes = word == self._quoted
                skips = word[0] == "\\" and self._quoted in self._escaped
                at = match.start() + (len(word) if closes or skips else 1)
                self._quoted = "" if closes else self._quoted
            elif word[0] == "\\" and word not in self._words:
                at = match.start() + 1
            elif word in ends and not self._depth:
                return match.start() - start
            else:
                # Only whitespace is passed: a copy of all text before each word is quadratic.
                behind = match.start()
                while behind > start and text[behind - 1].isspace():
                    behind -= 1
                before = text[behind - 1] if behind > start else ""
                # In `it's` no string begins.
                apostrophe = word in self._foreign and before not in _BEFORE_VALUE
                if (self._depth or not self._bare or not before) and not apostrophe:
                    self._quoted = "" if self._bare and not self._depth else quotes.get(word, "")
                    self._depth += (word in self._opens) - (word in self._closes)
                at = match.end()
            self._scan_size = at - start


_BEFORE_VALUE = ("", *"[{(,:=")
"""The characters before a value; elsewhere a foreign quote is an apostrophe."""


class LiteralScan:
    """Decides whether a text that begins with a quote is a quoted string and nothing else."""

    def __init__(self, opening: str, close: str, ends: Sequence[str], marks: Sequence[str]) -> None:
        """Store its quotes, the `ends` that may follow it, and `marks` that end any value."""
        self._close, self._ends = close, tuple(ends)
        words = sorted({close, *marks}, key=len, reverse=True)
        self._pattern = re.compile(r"\\.|" + "|".join(map(re.escape, words)), re.DOTALL)
        self._overlap = max(2, *map(len, words)) - 1
        self._at = len(opening)

    def is_whole(self, text: str, start: int, *, closed: bool) -> bool | None:
        """Return whether the text from `start` on is such a string, or None if unknown yet."""
        while (match := self._pattern.search(text, start + self._at)) is not None:
            if match.group() == self._close:
                behind = text[match.end() :].lstrip()
                self._at = match.start() - start
                if behind.startswith(self._ends):
                    return True
                may_follow = not behind or any(end.startswith(behind) for end in self._ends)
                return (not behind if closed else None) if may_follow else False
            # A mark of the format comes before the closing quote: the quote at the beginning is
            # text.
            if match.group()[0] != "\\":
                return False
            self._at = match.end() - start
        # A word may begin in this piece and end in the next one.
        self._at = max(self._at, len(text) - start - self._overlap)
        return False if closed else None


class _QuotedTexts:
    """The quotes and brackets of a notation, made once for a format."""

    def __init__(self, notation: ValueNotation) -> None:
        self.quotes, self.escaped = string_quotes(notation)
        words = sorted({*self.quotes, *self.quotes.values()}, key=len, reverse=True)
        self.pattern = re.compile("|".join([r"\\.", *map(re.escape, words)]), re.DOTALL)
        self.longest = max(2, *map(len, words)) if words else 2
        self.opens = tuple(
            container.open.strip()
            for container in (notation.array, notation.object)
            if container.open.strip()
        )


_QUOTED_TEXTS: IdentityCache[_QuotedTexts] = IdentityCache(256)


class QuoteScan:
    """Tracks whether the end of the text of an array or object is inside one of its strings."""

    def __init__(self, notation: ValueNotation) -> None:
        """Store the quotes of the strings in arrays and objects."""
        texts = _QUOTED_TEXTS.of((notation,), None, lambda: _QuotedTexts(notation))
        self._quotes, self._escaped, self._opens = texts.quotes, texts.escaped, texts.opens
        self._pattern, self._longest = texts.pattern, texts.longest
        self._unread = ""
        self._is_container: bool | None = None
        """Whether the value is an array or an object; None if unknown yet."""
        self._quoted = ""

    def read(self, text: str) -> None:
        """Add to the text of the value."""
        if self._is_container is not False:
            self._unread += text

    def inside(self, text: str) -> bool:
        """Return whether the place after `text`, which is not added, is inside a string."""
        size = len(self._unread)
        whole = self._unread + text
        if self._is_container is None and (front := whole.lstrip()):
            if front.startswith(self._opens):
                self._is_container = True
            elif not any(opening.startswith(front) for opening in self._opens):
                self._is_container, self._unread = False, ""
        if not self._is_container:
            return False
        quoted, kept, known = self._quoted, 0, self._quoted
        at = 0
        while (match := self._pattern.search(whole, at)) is not None:
            word = match.group()
            skips = word[0] != "\\" or quoted in self._escaped
            at = match.end() if skips else match.start() + 1
            quoted = self._behind(word, quoted)
            # The characters after `text` may still change, so keep the state at its end.
            if at <= size:
                kept, known = at, quoted
        self._unread = whole[max(kept, size - self._longest + 1) : size]
        self._quoted = known
        return bool(quoted)

    def _behind(self, word: str, quoted: str) -> str:
        """Return the closing quote of the string that is open after a word, or empty if none is."""
        if not quoted:
            return self._quotes.get(word, "")
        return "" if word == quoted else quoted


Emit: TypeAlias = Callable[[str], None]
"""Receives pieces of JSON text, in order."""


def ignore(text: str) -> None:
    """Receive a piece of a value that is read and not passed on."""
    del text


def in_json(text: str) -> str:
    """Return a text escaped for the inside of a JSON string."""
    return encode_basestring(text)[1:-1]


class ReadOutcome(StrEnum):
    """How the reading of a value ended."""

    COMPLETE = "complete"
    REPAIRED = "repaired"
    """Closers were missing and have been emitted, so the JSON is valid."""
    CUT = "cut"
    """The text ended inside the value."""
    BAD = "bad"
    """The text is not a value."""


# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_BAD, _CUT = ReadOutcome.BAD, ReadOutcome.CUT
_COMPLETE, _REPAIRED = ReadOutcome.COMPLETE, ReadOutcome.REPAIRED
_ARGUMENTS = SpanKind.ARGUMENTS
_SPACE = lazy_pattern(r"\s+")
_UNKNOWN_SPACE = lazy_pattern(r"[^ \t\r\n]")
"""Whitespace that JSON does not allow."""
_WORD = lazy_pattern(r"[\w.+\-$]+")
_PLAIN, _ESCAPE = r'[^"\\\x00-\x1f]', r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_ESCAPED = rf"{_PLAIN}*+(?:{_ESCAPE}{_PLAIN}*+)*+"
_RUNS = {
    '"': lazy_pattern(rf"(?:{_PLAIN}++|{_ESCAPE})++"),
    "'": lazy_pattern(r"[^'\\\x00-\x1f\"]+"),
}
"""Text of a string that is JSON's already; with JSON's quotes, its escapes are."""
# The runs are possessive: a string that never closes would be tried in every way otherwise.
_WHOLE = lazy_pattern(rf'"{_ESCAPED}"')
_BEGUN_ESCAPE = lazy_pattern(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_OTHER = lazy_pattern(r"[^'\\\x00-\x1f\"]*+(?!\Z)")
"""A text in Python's quotes with a character outside such text."""
_DECODER = Decoder(str)
"""Checks a text with escapes in half the time of a pattern."""
_BEGINS_ESCAPE = lazy_pattern(rf"({_ESCAPED})(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?\Z")
"""Such text, and at its end the front of an escape."""
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z", re.ASCII)
_WORDS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_WRITTEN = {"(": "[", ")": "]"}
_SIZES = {"u": 6, "'": 2, "x": 4, "U": 10}
"""Characters of an escape by the letter after its backslash: JSON's `\\u`, and Python's own."""
_UNICODE = lazy_pattern(r"\\u[0-9a-fA-F]{4}")
_PYTHON = lazy_pattern(r"\\(?:'|x[0-9a-fA-F]{2}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})")
"""Python's escapes that JSON lacks."""


def is_json_string(text: str) -> bool:
    """Return whether a text in quotes is a string of JSON, each of its escapes included."""
    return _WHOLE.fullmatch(text) is not None


def _passed(text: str, begun: object) -> int | None:
    """Return the length of the part of a string that is JSON already, or None if it may end."""
    del begun
    match = _BEGINS_ESCAPE.match(text)
    return None if match is None else match.end(1)


_DECODED = LaneSearch(_DECODER.decode, _passed, decode=_DECODER.decode)
"""The search in strings with JSON's quotes."""


class _Next(Enum):
    """The token that may come next."""

    KEY = auto()
    COLON = auto()
    VALUE = auto()
    END = auto()
    """A comma, or the closer of the innermost container."""


_KEY, _COLON, _VALUE, _END = _Next.KEY, _Next.COLON, _Next.VALUE, _Next.END


class _Parenthesis(Struct):
    """An open parenthesis, and the JSON text in it."""

    depth: int
    """The number of open containers, itself included, e.g. 1."""
    emit: Emit
    """Receives the JSON text outside of it."""
    pieces: list[str]
    """The JSON text since it opened, e.g. ['"', 'Oslo', '"']."""


_SCALAR = (_KEY, _VALUE)


class _JsonReader:
    """Reads one value."""

    def __init__(
        self,
        tape: TextTape,
        emit: Emit,
        stops: Sequence[str],
        lead: str,
        goes_on: GoesOn,
        required: frozenset[str],
        *,
        python: bool,
    ) -> None:
        self.tape, self.emit, self.stops, self.goes_on = tape, emit, tuple(stops), goes_on
        self.required, self.python = required, python
        self.open: list[str] = []
        self.names: dict[int, set[str]] = {}
        """The keys so far, as JSON strings, of the open objects by their depth."""
        self.outermost = 0 if lead else 1
        """The number of containers that the end of the text may close: not those in a value."""
        self.gap = lead
        """Whitespace, a comma or a key, emitted only with the next value, which may never come."""
        self.keyed = bool(lead)
        """Whether a key is in `gap`."""
        self.next = _VALUE
        self.repaired = False
        self.held: list[_Parenthesis] = []
        """The open parentheses in which no comma came yet, so that they may be no tuple."""

    def read(self) -> Reading[ReadOutcome]:
        tape = self.tape
        while True:
            text, at = tape.text, tape.at
            if at >= len(text):
                if not (yield from tape.wait(1)):
                    return self._at_end()
                continue
            char = text[at]
            if char.isspace():
                match = _SPACE.match(text, at)
                count = match.end() - at if match else 1
                taken = tape.take(count, _ARGUMENTS)
                if self.open:
                    # Python's whitespace is more than JSON's, such as a no-break space.
                    self.gap += taken if taken == " " else _UNKNOWN_SPACE.sub(" ", taken)
            elif not self._sign(char):
                outcome = yield from self._scalar(char)
                if outcome is not None:
                    self._release()
                    return outcome
            if not self.open and self.next is _END:
                return _REPAIRED if self.repaired else _COMPLETE

    def _sign(self, char: str) -> bool:
        """Take a bracket, a comma or a colon that may come here; return whether one did."""
        tape, due = self.tape, self.next
        if char in _CLOSERS and due is _VALUE:
            self._flush()
            tape.take(1, _ARGUMENTS)
            self.open.append(_CLOSERS[char])
            self.names[len(self.open)] = set()
            if char == "(":
                self.held.append(_Parenthesis(len(self.open), self.emit, []))
                self.emit = self.held[-1].pieces.append
            else:
                self.emit(char)
            self._expect()
        # A closer of an outer container also closes those inside that a model left open.
        elif char in "}])" and char in self.open and self._may_close():
            self._close(char)
        elif char == "," and self.open and due is _END:
            if self.held and self.held[-1].depth == len(self.open):
                self._release(innermost=True)
            tape.take(1, _ARGUMENTS)
            self.gap += ","
            self._expect()
        elif char == ":" and due is _COLON:
            self.gap += tape.take(1, _ARGUMENTS)
            self.next = _VALUE
        else:
            return False
        return True

    def _scalar(self, char: str) -> Reading[ReadOutcome | None]:
        """Read a string or a word; return the outcome if the value cannot continue, or None."""
        due = self.next
        if char in "\"'" and due in _SCALAR:
            keyed = due is _KEY
            if keyed:
                self.keyed = True
            else:
                self._flush()
            emit = self._keep if keyed else self.emit
            # Most strings are whole and JSON's already: one match passes them on.
            whole = _WHOLE.match(self.tape.text, self.tape.at)
            if whole is not None:
                emit(self.tape.take(whole.end() - whole.start(), _ARGUMENTS))
            elif not (yield from self._string(char, emit)):
                return self._cut() if keyed else _CUT
            self._after_scalar()
            return None
        if _WORD.match(char) and due in _SCALAR:
            return (yield from self._word())
        return (yield from self._at_other_text())

    def _expect(self) -> None:
        """Expect the first token of a container, or the one after a comma in it."""
        self.next = _KEY if self.open[-1] == "}" else _VALUE

    def _may_close(self) -> bool:
        """Return whether the open container may close here: no key waits for its value."""
        if not self.open or self.next is _COLON:
            return False
        # In an array, an element may be missing after the comma or the bracket.
        return self.next is not _VALUE or self.open[-1] != "}"

    def _flush(self) -> None:
        if self.gap:
            self.emit(self.gap)
            self.gap = ""
            self.keyed = False

    def _keep(self, text: str) -> None:
        self.gap += text

    def _cut(self) -> ReadOutcome:
        """Return CUT; emit a key that still waits for its value, without the end of the turn."""
        self._release()
        if self.keyed:
            gap: str = self.gap
            self.gap = gap.removesuffix(next(filter(gap.endswith, self.stops), ""))
            self._flush()
        return _CUT

    def _after_scalar(self) -> None:
        if self.next is not _KEY:
            self.next = _END
            return
        self.next = _COLON
        key, names = self.gap.lstrip(", \t\r\n"), self.names[len(self.open)]
        if "\\" in key:
            key = encode_basestring(json.loads(key))
        # Pass on both values of a repeated key: nothing shows which one is intended.
        self.repaired = self.repaired or key in names
        names.add(key)

    def _close(self, char: str) -> None:
        """Close a container and those inside it that were left open."""
        # A comma before a closer is not JSON.
        gap = self.gap.replace(",", "")
        self.repaired = self.repaired or gap != self.gap
        self.gap = ""
        if char == ")" and self.held and self.held[-1].depth == len(self.open):
            outer = self.held.pop()
            self.emit, pieces = outer.emit, outer.pieces
            # A string in parentheses is no tuple; without a value, it is an empty one.
            self.emit("".join(pieces) or "[]")
            self.repaired = self.repaired or bool(pieces)
            self.tape.take(1, _ARGUMENTS)
            self.open.pop()
            self.next = _END
            return
        closed = len(self.open) - self.open[::-1].index(char)
        while self.held and self.held[-1].depth >= closed:
            self._release(innermost=True)
        while self.open and self.open[-1] != char:
            self.emit(_WRITTEN.get(self.open[-1], self.open[-1]))
            self.open.pop()
            self.repaired = True
        self.tape.take(1, _ARGUMENTS)
        self.open.pop()
        self.emit(gap + _WRITTEN.get(char, char))
        self.next = _END

    def _at_other_text(self) -> Reading[ReadOutcome]:
        """End the value at a text that is not part of it."""
        # A key without a value cannot be completed.
        if not self._may_close():
            return _BAD
        if (yield from at_any(self.tape, self.stops)):
            return self._repair()
        goes_on = yield from self.goes_on(TextLookahead(self.tape, self.tape.position))
        return self._repair() if goes_on else _BAD

    def _release(self, *, innermost: bool = False) -> None:
        """Emit the text that is held, in all parentheses or one, as the beginning of tuples."""
        while self.held:
            outer = self.held.pop()
            self.emit = outer.emit
            self.emit("".join(("[", *outer.pieces)))
            if innermost:
                return

    def _repair(self) -> ReadOutcome:
        self._release()
        while self.open:
            char = self.open.pop()
            self.emit(_WRITTEN.get(char, char))
        return _REPAIRED

    def _at_end(self) -> ReadOutcome:
        """Return how the value ends with the text: repaired if it lacks nothing but closers."""
        tape, depth = self.tape, len(self.open)
        if not tape.complete or not self._may_close():
            return self._cut()
        wanted = set(map(encode_basestring, self.required))
        whole = "," not in self.gap and depth <= self.outermost and wanted <= self.names[depth]
        return self._repair() if whole or tape.bounded else self._cut()

    def _word(self) -> Reading[ReadOutcome | None]:
        tape = self.tape
        while True:
            match = _WORD.match(tape.text, tape.at)
            if match is None:
                return _BAD
            if match.end() < len(tape.text) or tape.closed:
                break
            yield
        word = match.group()
        if self.next is _KEY:
            self.keyed = self.repaired = True
            # Models write keys without quotes, as in JavaScript.
            self.gap += encode_basestring(word)
        elif word in _WORDS:
            self._flush()
            self.emit(_WORDS[word])
        elif _NUMBER.match(word):
            self._flush()
            self.emit(word)
        elif value := (yield from self._value_before_stop(word)):
            word = value
            self._flush()
            self.emit(_WORDS.get(word, word))
        else:
            # The text ends inside a word, which might have become a value.
            ends = tape.closed and match.end() == len(tape.text)
            return self._cut() if ends and not tape.bounded else _BAD
        tape.take(len(word), _ARGUMENTS)
        self._after_scalar()
        # More digits may be missing where a text ends.
        ends = tape.closed and not tape.left() and not tape.bounded
        return self._cut() if ends and ends_in_number(word) else None

    def _value_before_stop(self, word: str) -> Reading[str]:
        """Return the value at the front of a word before a stop, or an empty text.

        Where nothing separates two entries, `ratio=` follows `5` at once.
        """
        for size in range(1, 0 if self.open else len(word)):
            value = word[:size]
            if value in _WORDS or _NUMBER.match(value):
                behind = TextLookahead(self.tape, self.tape.position + size)
                if (yield from behind.among(self.stops)) is not None:
                    return value
        return ""

    def _string(self, quote: str, emit: Emit) -> Reading[bool]:
        """Read a string; return False if the text ends inside it."""
        tape = self.tape
        tape.take(1, _ARGUMENTS)
        emit('"')
        run, escape = _RUNS[quote], "\\" if quote == '"' else ""
        python = self.python or quote == "'"
        lane = TextLane(_DECODED if escape else LaneSearch(_OTHER.match), _ARGUMENTS, emit)
        while True:
            if tape.at >= len(tape.text) and not (yield from tape.wait(1)):
                return False
            text, at = tape.text, tape.at
            match = run.match(text, at)
            if match is not None:
                emit(tape.take(match.end() - at, _ARGUMENTS))
                # The run went to the end of the text, so more of it is likely: it need not pass the
                # reader.
                if tape.at == len(text) or _BEGUN_ESCAPE.match(text, tape.at) is not None:
                    tape.pass_by(lane)
                continue
            char = text[at]
            if char == quote:
                tape.take(1, _ARGUMENTS)
                emit('"')
                return True
            if char == "\\":
                if not (yield from self._escape(emit, python=python)):
                    return False
                continue
            # JSON escapes every control character.
            self.repaired = self.repaired or char < " "
            emit(in_json(tape.take(1, _ARGUMENTS)))

    def _escape(self, emit: Emit, *, python: bool) -> Reading[bool]:
        """Read an escape, of Python where its strings are; return False if the text ends in it."""
        tape = self.tape
        if not (yield from tape.wait(2)):
            return False
        char = tape.text[tape.at + 1]
        if char in '"\\/bfnrt':
            emit(tape.take(2, _ARGUMENTS))
            return True
        size = _SIZES.get(char, 1)
        if not (yield from tape.wait(size)):
            return False
        if _UNICODE.match(tape.text, tape.at):
            emit(tape.take(size, _ARGUMENTS))
            return True
        known = _PYTHON.match(tape.text, tape.at)
        self.repaired = self.repaired or not (known and python)
        # A backslash before any other character is a literal backslash, as in a path of Windows.
        taken = tape.take(size if known else 1, _ARGUMENTS)
        digits = taken[2:]
        emit(in_json(chr(int(digits, 16)) if digits else taken[-1]))
        return True


def read_json(
    tape: TextTape,
    emit: Emit,
    stops: Sequence[str] = (),
    lead: str = "",
    goes_on: GoesOn = ends_nowhere,
    required: frozenset[str] = frozenset(),
    *,
    python: bool = False,
) -> Reading[ReadOutcome]:
    """Read one value and emit it as JSON text, after the key in `lead`, if any.

    Valid JSON passes byte for byte. The missing closers of an open value are emitted if one of
    `stops` comes, or if `goes_on` recognizes the text that follows a call's arguments. At the end
    of a complete text, the closer of one object is emitted if its members are whole and none of
    `required` is missing. With `python`, strings may have Python's escapes.
    """
    return _JsonReader(tape, emit, stops, lead, goes_on, required, python=python).read()


def ends_in_number(text: str) -> bool:
    """Return whether a value ends in a digit, so that more of it may follow."""
    return text[-1:].isdigit()


def missing_closers(text: str) -> str:
    """Return the rest that makes emitted JSON text valid where it was cut; a value is null.

    The text must not end in an escape or in a word: `{"a": 1, "b` lacks `": null}`.
    """
    closers: list[str] = []
    before = last = ""
    for mark in _MARKS.findall(text):
        before, last = last, mark
        if mark in _CLOSERS:
            closers.append(_CLOSERS[mark])
        elif mark in "}]":
            closers[-1:] = []
    if last[:1] == '"':
        quote = "" if _WHOLE_STRING.fullmatch(last) else '"'
        is_key = closers[-1:] == ["}"] and before in "{,"
        closers.append(f"{quote}: null" if is_key else quote)
    elif last == ":":
        closers.append("null")
    return "".join(reversed(closers))


_WHOLE_STRING = lazy_pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MARKS = lazy_pattern(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s"\[\]{},:]+', re.DOTALL)
