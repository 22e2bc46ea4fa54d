"""Reading a whole turn: which text is reasoning, content or a call, and where the turn ends."""

from __future__ import annotations

from autoparser.analysis.expression import Start, Turn
from autoparser.analysis.format import Part
from autoparser.analysis.reading import (
    Found,
    Lane,
    Reading,
    SpanKind,
    Tape,
    behind_space,
    skip_space,
    skip_written,
)

from .closers import OpenParts
from .collector import Collector
from .json_content import JsonContent
from .marks import Mark, bracketed_marks, content_stops, is_tagged
from .reasoning import ReasoningReader
from .section import SectionReader
from .triggers import is_marked


class TurnReader:
    """Walks the expression of a turn along a tape."""

    def __init__(self, turn: Turn, offered: frozenset[str] | None, *, fenced: bool = False) -> None:
        """Prepare to read turns of this expression; `offered` are the tools, None: any.

        Where the answer is JSON that is `fenced`, the fence is left out.
        """
        self.turn = turn
        self._reasoning = ReasoningReader(turn)
        self._section = None if turn.calls is None else SectionReader(turn, turn.calls, offered)
        marked = turn.calls is None or is_marked(turn.calls)
        self._json: JsonContent | None = None
        if turn.json and marked:
            self._json = JsonContent(turn, bracketed_marks(turn, offered), fenced=fenced)
        self._stops = content_stops(turn, offered)
        self._behind_end = {end.core: end.after for end in turn.ends}
        self._written_behind = {
            Mark.REASONING_CLOSE: "" if turn.reasoning is None else turn.reasoning.close.after,
            Mark.CONTENT: turn.content.open.after,
            Mark.CONTENT_CLOSE: turn.content.close.after,
            Mark.HEADER: turn.header.after + turn.lead,
        }

    def read(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read to the end of the text."""
        if self.turn.start is Start.TURN and not is_tagged(self.turn.header):
            yield from self._header(tape)
        if self._begins_reasoning():
            yield from self._reasoning.read(tape, collector)
        else:
            yield from skip_written(tape, self.turn.unwritten)
        # Where calls have no marker of their own, an object may be one.
        json_read = self._json is None
        opened = OpenParts(self.turn)
        while not (tape.closed and not tape.left()):
            if not json_read and self._json is not None:
                json_read = yield from self._json.read(tape, collector)
            ended = yield from self._content(tape, collector, opened)
            if ended:
                break
        while True:
            tape.take(tape.left(), SpanKind.JUNK)
            if tape.closed:
                return
            yield

    def _header(self, tape: Tape) -> Reading[None]:
        """Read a header of mere words: one at the very beginning, for in a text it may be text."""
        core = self.turn.header.mark
        while not tape.closed and tape.left() < len(core) and core.startswith(tape.text[tape.at :]):
            yield
        if core and tape.text.startswith(core, tape.at):
            tape.take(len(core), SpanKind.MARKUP)
            yield from skip_written(tape, self._written_behind[Mark.HEADER])

    def _begins_reasoning(self) -> bool:
        """Whether the text begins in the reasoning: the prompt opened it, or nothing ever does."""
        reasoning = self.turn.reasoning
        if self.turn.start in (Start.REASONING, Start.CONTENT):
            return self.turn.start is Start.REASONING
        return reasoning is not None and reasoning.leads

    def _content(self, tape: Tape, collector: Collector, opened: OpenParts) -> Reading[bool]:
        """Read content up to the next stop and what the stop opens; true where the turn ended."""
        stops = self._stops
        lane = Lane(stops.search, SpanKind.CONTENT, collector.content)
        while True:
            while not tape.closed and stops.plain(tape.text, tape.at):
                collector.content(tape.take(tape.left(), SpanKind.CONTENT))
                tape.pass_by(lane)
                yield
            found = stops.find(tape.text, tape.at)
            if found is not None and self._may_be_other(tape, found):
                found = None
            if found is not None and (tape.closed or not stops.unsure(tape.text, found, tape.at)):
                cut = stops.written_before(tape.text, found, tape.at)
                if cut > tape.at:
                    collector.content(tape.take(cut - tape.at, SpanKind.CONTENT))
                return (yield from self._stopped(tape, collector, opened, found))
            end = self._end(tape) if tape.closed else stops.safe(tape.text, tape.at)
            if found is not None:
                end = min(end, found.start)
            if end > tape.at:
                collector.content(tape.take(end - tape.at, SpanKind.CONTENT))
            if tape.closed and found is None:
                tape.take(tape.left(), SpanKind.MARKUP)
                return True
            yield

    def _may_be_other(self, tape: Tape, found: Found[Mark]) -> bool:
        """Whether a cut has left of another stop what looks like the opening of calls."""
        if not tape.closed or tape.complete or found.label is not Mark.CALLS:
            return False
        begun = self._stops.begun(tape.text, tape.at)
        if begun is None:
            return False
        return begun.start <= found.start and begun.label is not Mark.CALLS

    def _end(self, tape: Tape) -> int:
        """Say where the content ends that the end of the text closes."""
        text, end = tape.text, len(tape.text)
        if not tape.complete:
            begun = self._stops.begun(text, tape.at)
            return end if begun is None else begun.start
        for char in reversed(self.turn.tail):
            if end <= tape.at or text[end - 1] != char:
                break
            end -= 1
        return end

    def _stopped(
        self, tape: Tape, collector: Collector, opened: OpenParts, found: Found[Mark]
    ) -> Reading[bool]:
        """Go on behind a stop in the content."""
        turn = self.turn
        if found.label is Mark.CALLS and self._section is not None:
            return (yield from self._section.read(tape, collector, found.start - tape.at))
        found_text = tape.text[found.start : found.end]
        self._take(
            tape, collector, found, stray=opened.strays(found.label, found_text, collector.last)
        )
        if found.label in (Mark.END, Mark.REASONING, Mark.CONTENT):
            collector.drop_blank()
        if found.label is Mark.END:
            if not (turn.goes_on and (yield from behind_space(tape, turn.header.core))):
                collector.ended = True
                yield from skip_written(tape, self._behind_end.get(found_text, ""))
                return True
            yield from skip_space(tape)
            return False
        if found.label is Mark.CONTENT:
            opened.opened_content()
        if found.label is Mark.REASONING:
            yield from self._reasoning.read(tape, collector)
            return False
        space = yield from skip_written(tape, self._written_behind[found.label])
        if found.label is Mark.REASONING_CLOSE:
            collector.reasoning_marker(space)
        return False

    def _take(self, tape: Tape, collector: Collector, found: Found[Mark], *, stray: bool) -> None:
        """Take a stop, and the whitespace that is written before it."""
        taken = tape.take(found.end - tape.at, SpanKind.JUNK if stray else SpanKind.MARKUP)
        closes = found.label is Mark.REASONING_CLOSE
        if closes or found.label is Mark.REASONING:
            collector.reasoning_marker(taken)
        if stray:
            collector.stray()
        elif closes:
            collector.close_reasoning(tape.position)
        if closes:
            collector.last = Part.REASONING
