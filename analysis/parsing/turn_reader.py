"""Read a whole turn: decide which text is reasoning, content or a call, and where the turn ends.

`TurnReader.read` reads headers, then content up to the next stop; the stop decides whether
reasoning, calls or content follow, and the readers of these pass their text to the collector.
"""

from __future__ import annotations

from autoparser.analysis.core.literals import spaced_spellings
from autoparser.analysis.core.text_format import TurnPart

from .call_ends import OpenParts
from .message_collector import MessageCollector
from .prose_reader import JsonContent, read_prose
from .reasoning_reader import CallTrial, HeaderReader, ReasoningReader
from .section_reader import SectionReader
from .stop_marks import StopMark, bracketed_marks, content_stops, is_marked, skip_again
from .text_lookahead import FoundStop, TextLookahead, behind_space_any, skip_space, skip_written
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import TurnStart, TurnTree


class TurnReader:
    """Reads a tape by the expression of a turn."""

    def __init__(self, turn: TurnTree, *, fenced: bool, keeps_reasoning: bool) -> None:
        """Prepare to read turns of this expression.

        Where the answer is JSON that is `fenced`, the fence is left out.
        With `keeps_reasoning` neither a call nor what opens content ends reasoning.
        """
        self.turn = turn
        self._section = None if turn.calls is None else SectionReader(turn, turn.calls)
        trial = None if self._section is None else CallTrial(turn, self._section)
        self._reasoning = ReasoningReader(turn, trial, keeps=keeps_reasoning)
        marked = turn.calls is None or is_marked(turn.calls)
        self._json: JsonContent | None = None
        if turn.json and marked:
            self._json = JsonContent(turn, bracketed_marks(turn), fenced=fenced)
        self._headers = HeaderReader(turn, self._section)
        self._stops = content_stops(turn, self._headers.frame)
        # A model may omit the header, but not the part after it.
        frame = self._headers.frame
        self._goes_on = (turn.header.core, *(() if frame is None else (frame.first,)))
        self._behind_end = {end.core: end.after for end in turn.ends}
        self._written_behind = {
            StopMark.REASONING_CLOSE: "" if turn.reasoning is None else turn.reasoning.close.after,
            StopMark.CONTENT: turn.content.open.after,
            StopMark.CONTENT_CLOSE: turn.content.close.after,
            StopMark.HEADER: turn.header.after + turn.lead,
        }
        opens = (turn.header, turn.content.open, *turn.content.others)
        self._opens = {
            spelling: literal for literal in opens for spelling in spaced_spellings(literal.core)
        }

    def read(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Read to the end of the text."""
        mark = StopMark.HEADER
        if self.turn.start is TurnStart.TURN and not self.turn.header.markers:
            yield from self._header(tape)
        if self._begins_reasoning():
            yield from self._reasoning.read(tape, collector)
        else:
            if self.turn.start is TurnStart.HEADER:
                yield from skip_again(tape, self.turn.header)
            yield from skip_written(tape, self.turn.unwritten)
        # If calls have no marker of their own, an object may be one.
        json_read = self._json is None
        opened = OpenParts(self.turn)
        while mark is not StopMark.END and not (tape.closed and not tape.left()):
            if not json_read and self._json is not None:
                json_read = yield from self._json.read(tape, collector)
            mark = yield from self._block(tape, collector, opened, mark)
        if self._section is not None:
            self._section.judge_noise(tape, collector)
        while True:
            tape.take(tape.left(), SpanKind.JUNK)
            if tape.closed:
                return
            yield

    def _header(self, tape: TextTape) -> Reading[None]:
        """Read a header without markers at the very beginning; elsewhere it may be text."""
        core = self.turn.header.mark
        while not tape.closed and tape.left() < len(core) and core.startswith(tape.text[tape.at :]):
            yield
        if core and tape.text.startswith(core, tape.at):
            tape.take(len(core), SpanKind.MARKUP)
            yield from skip_written(tape, self._written_behind[StopMark.HEADER])

    def _begins_reasoning(self) -> bool:
        """Return whether the text begins in reasoning: opened by the prompt, or never opened."""
        reasoning = self.turn.reasoning
        if self.turn.start in (TurnStart.REASONING, TurnStart.CONTENT):
            return self.turn.start is TurnStart.REASONING
        return reasoning is not None and reasoning.leads

    def _block(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts, before: StopMark
    ) -> Reading[StopMark]:
        """Read what comes next; say what it was, END where the turn ended.

        After what opens content no header may stand.
        """
        if before is not StopMark.CONTENT:
            mark = yield from self._read_headers(tape, collector, opened)
            if mark is not None:
                return mark
        return (yield from self._read_content(tape, collector, opened))

    def _read_headers(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts
    ) -> Reading[StopMark | None]:
        """Read headers in other words than the template's, where a header may come."""
        while True:
            mark: StopMark | None = yield from self._headers.read(tape, collector, self._stops)
            if mark is StopMark.REASONING:
                yield from self._reasoning.read(tape, collector)
            elif mark is StopMark.CONTENT:
                opened.open_content()
                return mark
            elif mark is None or mark is StopMark.END:
                return mark

    def _read_content(
        self, tape: TextTape, collector: MessageCollector, opened: OpenParts
    ) -> Reading[StopMark]:
        """Read content up to the next stop and what the stop opens; END where the turn ended."""
        found = yield from read_prose(
            tape, self._stops, SpanKind.CONTENT, collector.content, self.turn.tail
        )
        if found is None:
            tape.take(tape.left(), SpanKind.MARKUP)
            return StopMark.END
        offset = tape.offset
        is_text = yield from self._is_text(tape, collector, opened, found)
        # Text that was fed meanwhile has moved the offset of the stop.
        moved = tape.offset - offset
        found = FoundStop(found.start - moved, found.end - moved, found.label)
        if is_text:
            collector.content(tape.take(found.end - tape.at, SpanKind.CONTENT))
            return StopMark.CONTENT
        return (yield from self._read_stop(tape, collector, opened, found))

    def _read_stop(
        self,
        tape: TextTape,
        collector: MessageCollector,
        opened: OpenParts,
        stop: FoundStop[StopMark],
    ) -> Reading[StopMark]:
        """Go on after a stop in the content; say what was read, END where the turn ended."""
        turn = self.turn
        if stop.label is StopMark.CALLS and self._section is not None:
            own = self._stops.written_before(tape.text, stop, tape.at, fence=False)
            cut = yield from self._section.read(tape, collector, stop.start - own, own - tape.at)
            return StopMark.END if cut else StopMark.CALLS
        found_text = tape.text[stop.start : stop.end]
        stray = opened.strays(stop.label, found_text, collector.last)
        self._take(tape, collector, stop, stray=stray)
        if stop.label in (StopMark.END, StopMark.REASONING, StopMark.CONTENT):
            collector.drop_blank()
        if stop.label is StopMark.END:
            if not (turn.goes_on and (yield from behind_space_any(tape, self._goes_on))):
                collector.ended = True
                yield from skip_written(tape, self._behind_end.get(found_text, ""))
                return StopMark.END
            yield from skip_space(tape)
            return StopMark.HEADER
        if stop.label is StopMark.CONTENT:
            opened.open_content()
        if stop.label is StopMark.REASONING:
            yield from self._reasoning.read(tape, collector)
            return StopMark.REASONING_CLOSE
        if found_text in self._opens:
            yield from skip_again(tape, self._opens[found_text])
        space = yield from skip_written(tape, self._behind(stop.label, found_text))
        if stop.label is StopMark.HEADER:
            yield from self._headers.skip_role(tape)
        if stop.label is StopMark.REASONING_CLOSE:
            collector.reasoning_marker(space)
        # After a stray closer the content continues without a header.
        return StopMark.CONTENT if stray else stop.label

    def _behind(self, label: StopMark, text: str) -> str:
        """Return the whitespace written after a stop; content may have several openings."""
        opener = self._opens.get(text) if label is StopMark.CONTENT else None
        return self._written_behind[label] if opener is None else opener.after

    def _is_text(
        self,
        tape: TextTape,
        collector: MessageCollector,
        opened: OpenParts,
        stop: FoundStop[StopMark],
    ) -> Reading[bool]:
        """Return whether a marker of reasoning inside content is only mentioned.

        So does an opener inside a line, or one that stands there otherwise than the template writes
        it, and a closer where reasoning has closed before, what would have opened it was text, or a
        space or a quote stands before it in its line.
        """
        reasoning = self.turn.reasoning
        if (
            reasoning is None
            or self._headers.frame is not None
            or not tape.follows(SpanKind.CONTENT)
        ):
            return False
        space = tape.text[tape.at : stop.start]
        within_line = "\n" not in space and collector.within_line
        if stop.label is StopMark.REASONING_CLOSE:
            text = tape.text[stop.start : stop.end]
            spoken_of = within_line and collector.last_character in _BEFORE_QUOTED
            closed = collector.reasoning_end is not None or opened.quoted or spoken_of
            return closed and opened.strays(stop.label, text, collector.last)
        if stop.label is not StopMark.REASONING:
            return False
        opened.quoted = within_line
        after = reasoning.open.after
        if not opened.quoted and after:
            ahead = TextLookahead(tape, tape.offset + stop.end)
            opened.quoted = (yield from ahead.among((after, "\r\n"))) is None
        return opened.quoted

    def _take(
        self,
        tape: TextTape,
        collector: MessageCollector,
        stop: FoundStop[StopMark],
        *,
        stray: bool,
    ) -> None:
        """Take a stop and the whitespace that is written before it."""
        taken = tape.take(stop.end - tape.at, SpanKind.JUNK if stray else SpanKind.MARKUP)
        closes = stop.label is StopMark.REASONING_CLOSE
        if closes or stop.label is StopMark.REASONING:
            collector.reasoning_marker(taken)
        if stray:
            collector.strays = True
        elif closes:
            collector.close_reasoning(tape.position)
        if closes:
            collector.last = TurnPart.REASONING


_BEFORE_QUOTED = tuple(" \t`'\"(")
"""Characters before a marker that a sentence mentions."""
