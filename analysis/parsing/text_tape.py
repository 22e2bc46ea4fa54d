"""Buffer the streamed text, the read position and labeled spans.

Readers are generators. A reader that needs more text yields; the caller that feeds the tape resumes
it. A `TextLane` lets plain text bypass its reader: the tape counts the passed text when the lane is
left.

Owed to `StreamParser`: no text is read twice, and each character goes to exactly one span, so that
text that was passed on is never offered to another reader.

A reader of `<call>` waits until six characters are there:

    >>> tape = TextTape()
    >>> tape.feed("Hm <ca")
    >>> tape.take(3, SpanKind.CONTENT)
    'Hm '
    >>> reader = tape.wait(6)
    >>> next(reader)
    >>> tape.feed("ll>")
    >>> tape.take(6, SpanKind.MARKUP)
    '<call>'
    >>> [(span.start, span.end, span.kind.value) for span in tape.spans]
    [(0, 3, 'content'), (3, 9, 'markup')]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.json import Decoder

Result = TypeVar("Result")

Reading: TypeAlias = Generator[None, None, Result]
"""A reader: yields when it needs more text, returns its result."""


class SpanKind(StrEnum):
    """The roles of parts of an output, e.g. `SpanKind.MARKUP` for `"<tool_call>"`."""

    MARKUP = "markup"
    REASONING = "reasoning"
    CONTENT = "content"
    NAME = "name"
    ID = "id"
    ARGUMENTS = "arguments"
    JUNK = "junk"


# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_JUNK, _MARKUP = SpanKind.JUNK, SpanKind.MARKUP


class Span(NamedTuple):
    """A part of an output by character offsets, e.g. `Span(0, 6, SpanKind.CONTENT)`."""

    start: int
    """The offset of the first character, e.g. 0."""
    end: int
    """The offset after the last character, e.g. 6."""
    kind: SpanKind
    """The kind of text, such as `SpanKind.CONTENT`."""


Part: TypeAlias = tuple[int, int, SpanKind]
"""Where a part begins and ends in the tape's text, and its kind."""


class _Growing(Struct):
    """A span whose end is not known yet."""

    start: int
    """The offset of the first character, e.g. 8."""
    end: int
    """The offset after the last character so far, e.g. 55."""
    kind: SpanKind
    """The kind of text, e.g. `SpanKind.REASONING`."""
    inner: list[tuple[int, Sequence[Part]]] = []
    """The parts of other kinds that were taken with markup around them, e.g. [(8, [(6, 17,
    SpanKind.NAME)])], behind the offset from which their own are counted."""

    def parts(self) -> Iterator[Span]:
        """Return the parts of other kinds, and the text between them."""
        at = self.start
        for offset, parts in self.inner:
            for start, end, kind in parts:
                if end > start:
                    if offset + start > at:
                        yield Span(at, offset + start, self.kind)
                    at = offset + end
                    yield Span(offset + start, at, kind)
        if self.end > at:
            yield Span(at, self.end, self.kind)


class LaneSink(Struct):
    """The target of text that bypasses its reader."""

    pieces: list[str]
    """All pieces that were passed on, e.g. ["The", " user", " wants"]."""
    append: Callable[[str], object]
    """Adds a piece to `pieces`, e.g. `pieces.append`."""
    kind: Any = None
    """The kind of delta that each piece becomes, e.g. `DeltaKind.CONTENT`, or None if deltas are
    made elsewhere."""
    number: int = 0
    """The index of the call that a piece belongs to, e.g. 1 for the second."""


class TextHold(Struct):
    """The closer of a call that is then read at once; a reader waits for it."""

    wanted: str
    """E.g. `</tool_call>`."""
    most: int
    """The number of characters after which the reader waits no longer, e.g. 192."""


class LaneSearch(Struct, frozen=True):
    """The search for texts that the reader of a lane may have to see, made once for a format."""

    find: Callable[[str], object]
    """Finds a text that may matter, e.g. the search of a pattern."""
    passed: Callable[[str, Callable[[str], str] | None], int | None] | None = None
    """Returns the length of a text with a match that may still pass, or None if the reader has to
    see it. None if no text with a match may pass."""
    sign: str = ""
    """The sign without which a text has no match, e.g. "<"; empty if none is known."""
    ends: str = ""
    r"""Characters that may matter only at the end of a text, e.g. "\n"."""
    blank: str = ""
    r"""The characters of `ends` that may matter when repeated, e.g. "\n"."""
    widest: int = 0
    """The number of `blank` characters that may matter, e.g. 2."""
    decode: Callable[[str], object] | None = None
    """Raises for a text in quotes that matters, whatever is found; None to search."""


class TextLane:
    """A bypass of the reader for pieces of text in which a search finds nothing.

    Such a piece costs one search and one append; offset and spans are updated when the lane is
    left. If a stop may begin in a piece, the part that may belong to it is held.
    """

    def __init__(
        self,
        search: LaneSearch,
        kind: SpanKind,
        emit: Callable[[str], None],
        quote: Callable[[str], str] | None = None,
        begun: Callable[[str], str] | None = None,
    ) -> None:
        """Store the search for texts that may matter, and the target of all others.

        A text passes as `quote` encodes it inside of quotes. A text that has `begun` a joint, which
        the reader need not see yet, is held.
        """
        self.search, self.kind, self.emit = search, kind, emit
        # Looked at for each piece.
        self.find, self.sign, self.ends = search.find, search.sign, search.ends
        self.decode = search.decode
        self.quote, self.begun = quote, begun
        self.held_text = ""
        """The text that is held back."""
        self.joint = ""
        """The joint that the held text is the front of, if it is one."""

    def open(self, sink: LaneSink, held_text: str) -> None:
        """Let text pass from now on."""
        self.sink, self.held_text = sink, held_text
        self.start = len(sink.pieces)
        self.append, self.delta, self.index = sink.append, sink.kind, sink.number

    def passing(self, text: str) -> str | None:
        """Return the prefix that may pass and hold the rest, or None if the reader must see it."""
        begun, joint = self.begun, self.joint
        if begun is not None:
            self.joint = begun(text)
            if self.joint:
                self.held_text = text
                return ""
            # Behind a whole joint, or its front and other text, the reader decides.
            if joint:
                if text.startswith(joint):
                    return None
                begun = None
        passed = self.search.passed
        end = None if passed is None else passed(text, begun)
        if end is None:
            return None
        self.held_text = text[end:]
        return text[:end]


WHITESPACE = " \t\r\n"
"""Characters that may replace the whitespace that a template writes."""


class TextTape:
    """Text that is fed in pieces and taken from the front."""

    def __init__(self) -> None:
        """Begin with no text."""
        self.text = ""
        """The text that was fed and not yet dropped; readers look at it from `at` on."""
        self.at = 0
        self.offset = 0
        """The offset of `text[0]` in all text that was fed."""
        self.closed = False
        """Whether no more text will come."""
        self.complete = False
        """Whether the closed text came to its own end; otherwise it was cut."""
        self.bounded = False
        """Whether a marker follows the closed text, so that its last value is whole."""
        self._spans: list[_Growing] = []
        self.junk_letter: int | None = None
        """The offset of the first letter of junk; the template's own noise has none. None if all
        that was skipped is whitespace and signs."""
        self._recorded: list[str] | None = None
        self._short_at = -1
        self.lane: TextLane | None = None
        """The lane in which the next piece may bypass its reader, or None."""
        self.hold: TextHold | None = None
        """The closer that a reader waits for, although it could read on; None if it does not wait.

        Before the end of the text the reader is made to read on, so that it sees the text that it
        would see without waiting."""
        self.still: Callable[[], bool] | None = None
        """Returns whether the reader would only wait again, whatever has come; None if unknown.

        A reader sets it right before it yields, so that a piece in the middle of a marker or a name
        costs one comparison and not a walk through all readers.
        """
        self.text_sink: Callable[[Callable[[str], None]], LaneSink | None] = plain_sink
        """Returns the sink of an emit function, or None if its text cannot bypass yet."""

    def pass_by(self, lane: TextLane) -> None:
        """Let the next pieces bypass the reader, if all text before them is taken or can be held.

        A reader calls it right before it yields, after it took text of the lane's kind.
        """
        at, text = self.at, self.text
        spans = self._spans
        if self.closed or (at < len(text) and lane.search.passed is None):
            return
        # Passed text extends the last span, which must have the same kind.
        if not spans or spans[-1].kind is not lane.kind:
            return
        sink = self.text_sink(lane.emit)
        if sink is not None:
            lane.open(sink, text[at:])
            self.offset += at
            self.text, self.at = "", 0
            self.lane = lane

    def change_sink(self, lane: TextLane) -> None:
        """Let text pass to the sink that its target has by now."""
        self._count_passed(lane)
        sink = self.text_sink(lane.emit)
        if sink is not None:
            lane.open(sink, lane.held_text)

    def leave_lane(self) -> None:
        """Let the reader see the next text, with the held text before it."""
        lane = self.lane
        if lane is not None:
            self._count_passed(lane)
            self.text = lane.held_text
            self.lane = None

    def _count_passed(self, lane: TextLane) -> None:
        """Update offset and spans for the pieces that have passed since the last count."""
        passed = lane.sink.pieces[lane.start :]
        if not passed:
            return
        lane.start += len(passed)
        text = "".join(passed)
        if lane.quote is not None:
            # A sink receives JSON-escaped text, but offsets count the model's characters.
            text = _unescaped(text)
        self.offset += len(text)
        self._spans[-1].end += len(text)
        if self._recorded is not None:
            self._recorded.append(text)

    def waits_for_rest(self, wanted: str, start: int) -> None:
        """Let the reader wait while all text from the offset `start` on is a front of `wanted`."""

        def still() -> bool:
            begun = self.text[start - self.offset :]
            return len(begun) < len(wanted) and wanted.startswith(begun)

        self.still = still

    def waits_within(self, pattern: re.Pattern[str]) -> None:
        """Let the reader wait while all text left matches a pattern."""
        start = self.position
        self.still = lambda: pattern.fullmatch(self.text, start - self.offset) is not None

    def waits_for(self, sign: str) -> None:
        """Let the reader wait until a sign comes in new text."""
        # Only new text is searched, so that the cost stays linear in the text.
        end = self.offset + len(self.text)
        self.still = lambda: self.text.find(sign, end - self.offset) < 0

    def waits_for_any(self, signs: re.Pattern[str], most: int) -> None:
        """Let the reader wait until one of these signs comes, or `most` characters are left."""
        end = self.offset + len(self.text)

        def still() -> bool:
            text = self.text
            return len(text) - self.at < most and signs.search(text, end - self.offset) is None

        self.still = still

    def feed(self, text: str) -> None:
        """Add text at the end; text that was taken is dropped."""
        at = self.at
        self.offset += at
        self.text = text if at == len(self.text) else self.text[at:] + text
        self.at = 0

    @property
    def position(self) -> int:
        """Number of characters taken in all."""
        return self.offset + self.at

    def left(self) -> int:
        """Return the number of characters left."""
        return len(self.text) - self.at

    def take(self, count: int, kind: SpanKind) -> str:
        """Take `count` characters from the front as a part of this kind."""
        if not count:
            return ""
        at = self.at
        end = at + count
        taken = self.text[at:end]
        self.at = end
        spans = self._spans
        if spans and spans[-1].kind is kind:
            spans[-1].end = self.offset + end
        else:
            spans.append(_Growing(self.offset + at, self.offset + end, kind))
        if kind is _JUNK and self.junk_letter is None:
            letters = (place for place, letter in enumerate(taken, at) if letter.isalnum())
            first = next(letters, None)
            self.junk_letter = None if first is None else self.offset + first
        if self._recorded is not None:
            self._recorded.append(taken)
        return taken

    @property
    def skipped_words(self) -> bool:
        """Whether other text follows junk with letters, which is then not after the turn."""
        letter = self.junk_letter
        return letter is not None and any(
            span.end > letter and span.kind is not SpanKind.JUNK for span in self._spans
        )

    def take_parts(self, parts: Sequence[Part], end: int) -> None:
        """Take markup from the front, up to the offset `end`, with parts of other kinds in it."""
        at, spans, offset = self.at, self._spans, self.offset
        if not spans or spans[-1].kind is not _MARKUP:
            spans.append(_Growing(offset + at, offset + end, _MARKUP))
        spans[-1].end = offset + end
        # They become spans of their own once somebody reads the spans.
        spans[-1].inner.append((offset, parts))
        self.at = end
        if self._recorded is not None:
            self._recorded.append(self.text[at:end])

    def _split(self, start: int) -> None:
        """Make the parts of the spans that end behind an offset spans of their own."""
        spans, later = self._spans, list[_Growing]()
        while spans and spans[-1].end > start:
            later.append(spans.pop())
        for span in reversed(later):
            spans += (_Growing(*part) for part in span.parts())

    def hold_for(self, wanted: str, most: int) -> None:
        """Let the reader wait until a text is there, or `most` characters are."""
        # Drop what was taken: `TurnStream.feed` counts and searches all that is left as held.
        self.offset += self.at
        self.text, self.at = self.text[self.at :], 0
        self.hold = TextHold(wanted, most)

    def put_back(self, text: str) -> None:
        """Put back the text taken last, to be read in another way; nothing may be recorded then."""
        start = self.position - len(text)
        # The letter is put back with the text, and may be content this time.
        if self.junk_letter is not None and self.junk_letter >= start:
            self.junk_letter = None
        if len(text) <= self.at:
            # The text is still on the tape, so move back: copying the rest would be quadratic.
            self.at -= len(text)
        else:
            self.text = text + self.text[self.at :]
            self.offset, self.at = start, 0
        self._split(start)
        spans = self._spans
        while spans and spans[-1].start >= start:
            spans.pop()
        if spans:
            spans[-1].end = min(spans[-1].end, start)

    def record(self) -> None:
        """Record the text taken from here on, in case it has to be read as something else."""
        self._recorded = []

    def recorded(self) -> str:
        """Stop recording; return the text taken meanwhile."""
        text = "".join(self._recorded or ())
        self._recorded = None
        return text

    def relabel(self, start: int, kind: SpanKind, end: int | None = None) -> None:
        """Set the kind of all text taken from the offset `start` on, or up to `end`."""
        self._split(start)
        spans = self._spans
        later: list[_Growing] = []
        if end is None:
            end = self.position
            if kind is SpanKind.JUNK and self.junk_letter is None:
                # A call beyond the allowed number: its name has letters.
                self.junk_letter = start
        # What lies behind `end` keeps its kind, and is added again at the end.
        while spans and spans[-1].end > end:
            last = spans.pop()
            later.append(_Growing(max(last.start, end), last.end, last.kind))
            if last.start < end:
                spans.append(_Growing(last.start, end, last.kind))
        while spans and spans[-1].start >= start:
            spans.pop()
        if spans and spans[-1].end > start:
            spans[-1].end = start
        if end > start:
            if spans and spans[-1].kind is kind:
                start = spans.pop().start
            spans.append(_Growing(start, end, kind))
        # Neighbors of one kind are one span, as after `take`.
        if later and spans and spans[-1].kind is later[-1].kind:
            later[-1].start = spans.pop().start
        spans += reversed(later)

    def follows(self, kind: SpanKind) -> bool:
        """Return whether the text taken last is of this kind."""
        return bool(self._spans) and self._spans[-1].kind is kind

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the text taken so far, in order and without gaps."""
        if self.lane is not None:
            self._count_passed(self.lane)
        return tuple(part for span in self._spans for part in span.parts())

    def wait(self, count: int) -> Reading[bool]:
        """Wait until `count` characters are there; return False if the text ends before."""
        while len(self.text) - self.at < count and not self.closed:
            # Any new text satisfies a reader that waits for one character.
            if count > 1:
                self.still = lambda: len(self.text) - self.at < count
            yield
        return len(self.text) - self.at >= count

    def fell_short(self) -> None:
        """Note that the rest is the front of the wanted text, which the end has cut."""
        self._short_at = self.position

    @property
    def cut(self) -> bool:
        """Whether the text ended before or inside the wanted text."""
        return self.closed and (not self.left() or self._short_at == self.position)


def _unescaped(text: str) -> str:
    """Return the string of an escaped text of JSON, without its quotes."""
    quoted = f'"{text}"'
    try:
        return _DECODER.decode(quoted)
    # Half of a surrogate pair, which is no character of its own.
    except UnicodeEncodeError:
        return str(json.loads(quoted))


_DECODER = Decoder(str)


def plain_sink(emit: Callable[[str], None]) -> LaneSink:
    """Return a sink that passes each piece to `emit`."""
    pieces: list[str] = []

    def append(text: str) -> None:
        pieces.append(text)
        emit(text)

    return LaneSink(pieces, append)
