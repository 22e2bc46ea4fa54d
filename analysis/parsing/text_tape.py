"""The text as it arrives: what has been fed, how far it was read, and what each part of it was.

Readers are generators. A reader that needs more text than there is yields; whoever feeds the
tape resumes it. Nothing is read twice, and each character goes to exactly one span.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

Result = TypeVar("Result")

Reading: TypeAlias = Generator[None, None, Result]
"""A reader: yields where it needs more text, returns what it read."""


class SpanKind(StrEnum):
    """What a part of the text is."""

    MARKUP = "markup"
    REASONING = "reasoning"
    CONTENT = "content"
    NAME = "name"
    ID = "id"
    ARGUMENTS = "arguments"
    JUNK = "junk"


class Span(NamedTuple):
    """A part of the text, by character positions; `end` is exclusive."""

    start: int
    end: int
    kind: SpanKind


@dataclass(slots=True)
class _Growing:
    """A span whose end is not known yet."""

    start: int
    end: int
    kind: SpanKind


class LaneSink(NamedTuple):
    """Where text goes that passes by its reader."""

    pieces: list[str]
    """All that was passed on so."""
    append: Callable[[str], object]
    """Adds a piece to them."""
    kind: Any = None
    """The kind of the delta that each piece is, whole; None where others make deltas of them."""
    number: int = 0
    """The index of the delta."""


class TextLane:
    """Where text passes by its reader, in pieces in which nothing is found.

    Such a piece costs one search and one append; what follows from them is made up for when the
    lane is left. One that may begin something passes but for what may be of it, which is held.
    """

    __slots__ = (
        "append",
        "delta",
        "emit",
        "ends",
        "held",
        "index",
        "kind",
        "passed",
        "search",
        "sink",
        "start",
        "write",
    )

    def __init__(
        self,
        search: Callable[[str], object],
        kind: SpanKind,
        emit: Callable[[str], None],
        passed: Callable[[str], int | None] | None = None,
        *,
        ends: str = "",
        write: Callable[[str], str] | None = None,
    ) -> None:
        """Take what finds the texts that may matter, and where all others go.

        `passed` says how much of a text with such passes all the same, and goes on as `write`
        writes it; None where the reader has to see it. Of the signs in `ends` the last of any text
        may matter.
        """
        self.search, self.kind, self.emit, self.passed = search, kind, emit, passed
        self.ends, self.write = ends, write
        self.held = ""
        """What stays back."""

    def open(self, sink: LaneSink, held: str) -> None:
        """Let text pass from here on."""
        self.sink, self.held = sink, held
        self.start = len(sink.pieces)
        self.append, self.delta, self.index = sink.append, sink.kind, sink.number

    def passing(self, text: str) -> str | None:
        """Return what may pass of a text and hold the rest; None if the reader must see it."""
        end = None if self.passed is None else self.passed(text)
        if end is None:
            return None
        self.held = text[end:]
        return text[:end]


WHITESPACE = " \t\r\n"
"""What may stand for the whitespace that a template writes."""


class TextTape:
    """Text that is fed in pieces and taken from the front."""

    __slots__ = (
        "_recorded",
        "_short_at",
        "_spans",
        "at",
        "closed",
        "complete",
        "lane",
        "offset",
        "sink_of",
        "text",
    )

    def __init__(self) -> None:
        """Begin with no text."""
        self.text = ""
        """What has been fed and not yet dropped; readers look at it from `at` on."""
        self.at = 0
        self.offset = 0
        """The position of `text[0]` in all that was fed."""
        self.closed = False
        """No more text will come."""
        self.complete = False
        """It has come to its own end; otherwise it was cut."""
        self._spans: list[_Growing] = []
        self._recorded: list[str] | None = None
        self._short_at = -1
        self.lane: TextLane | None = None
        """Where the next piece may pass by its reader."""
        self.sink_of: Callable[[Callable[[str], None]], LaneSink | None] = plain_sink
        """Where text goes that a reader emits so; None: it cannot pass by yet."""

    def pass_by(self, lane: TextLane) -> None:
        """Let the pieces that come next pass by, while all before them is taken, or held.

        A reader says so right before it yields, when the last that it took was of the lane's kind.
        """
        at, text = self.at, self.text
        spans = self._spans
        if self.closed or (lane.passed is None and at < len(text)):
            return
        if not spans or spans[-1].kind is not lane.kind:
            return
        sink = self.sink_of(lane.emit)
        if sink is not None:
            lane.open(sink, text[at:])
            self.offset += at
            self.text, self.at = "", 0
            self.lane = lane

    def leave_lane(self) -> None:
        """Let the reader see what comes next, with what was held."""
        lane = self.lane
        if lane is not None:
            self._count_passed(lane)
            self.text = lane.held
            self.lane = None

    def _count_passed(self, lane: TextLane) -> None:
        """Make up for what has passed by since it was last counted."""
        passed = lane.sink.pieces[lane.start :]
        if not passed:
            return
        lane.start += len(passed)
        size = sum(map(len, passed))
        self.offset += size
        self._spans[-1].end += size
        if self._recorded is not None:
            self._recorded += passed

    def pass_written(self, lane: TextLane, text: str, written: str) -> None:
        """Let a text pass in other words; what has passed is counted up to its end."""
        self._count_passed(lane)
        lane.append(written)
        lane.start = len(lane.sink.pieces)
        self.offset += len(text)
        self._spans[-1].end += len(text)
        if self._recorded is not None:
            self._recorded.append(text)

    def feed(self, text: str) -> None:
        """Add text at the end; what has been taken is dropped."""
        at = self.at
        if not at:
            self.text += text
            return
        self.offset += at
        self.text = text if at == len(self.text) else self.text[at:] + text
        self.at = 0

    @property
    def position(self) -> int:
        """How many characters have been taken in all."""
        return self.offset + self.at

    def left(self) -> int:
        """How many characters are there to look at."""
        return len(self.text) - self.at

    def take(self, count: int, kind: SpanKind) -> str:
        """Take so many characters from the front, as a part of this kind."""
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
        if self._recorded is not None:
            self._recorded.append(taken)
        return taken

    def put_back(self, text: str) -> None:
        """Put back what was taken last, to be read another way; it is not being recorded."""
        start = self.position - len(text)
        self.text = text + self.text[self.at :]
        self.offset, self.at = start, 0
        spans = self._spans
        while spans and spans[-1].start >= start:
            spans.pop()
        if spans:
            spans[-1].end = min(spans[-1].end, start)

    def record(self) -> None:
        """Keep what is taken from here on, in case it turns out to be something else."""
        self._recorded = []

    def recorded(self) -> str:
        """Stop recording; return what was taken meanwhile."""
        text = "".join(self._recorded or ())
        self._recorded = None
        return text

    def relabel(self, start: int, kind: SpanKind, end: int | None = None) -> None:
        """Say that all taken from the position `start` on, or up to `end`, is of this kind."""
        spans = self._spans
        later: list[_Growing] = []
        if end is None:
            end = self.position
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
        if later and spans and spans[-1].kind is later[-1].kind:
            later[-1].start = spans.pop().start
        spans += reversed(later)

    def follows(self, kind: SpanKind) -> bool:
        """Whether what was taken last is of this kind."""
        return bool(self._spans) and self._spans[-1].kind is kind

    @property
    def spans(self) -> tuple[Span, ...]:
        """What has been taken, in order, without gaps."""
        if self.lane is not None:
            self._count_passed(self.lane)
        return tuple(Span(span.start, span.end, span.kind) for span in self._spans)

    def wait(self, count: int) -> Reading[bool]:
        """Wait until so many characters are there; False where the text ends before."""
        while len(self.text) - self.at < count and not self.closed:
            yield
        return len(self.text) - self.at >= count

    def fell_short(self) -> None:
        """Note that what is left could have been what was looked for, had it gone on."""
        self._short_at = self.position

    @property
    def cut(self) -> bool:
        """Whether the end came before what was looked for, and nothing else stands there."""
        return self.closed and (not self.left() or self._short_at == self.position)


def plain_sink(emit: Callable[[str], None]) -> LaneSink:
    """Return a sink of which nothing more is known than what takes its text."""
    pieces: list[str] = []

    def append(text: str) -> None:
        pieces.append(text)
        emit(text)

    return LaneSink(pieces, append)
