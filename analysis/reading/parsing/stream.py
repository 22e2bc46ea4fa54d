"""A parser of one output that comes in pieces."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.reading.expression import RequestError, Start
from autoparser.analysis.reading.text import Lane, Span, SpanKind, Tape

from .collector import Collector
from .missing_end import missing_end
from .parsed_message import Delta, DeltaKind, ParsedMessage
from .turn_reader import TurnReader


class StreamParser:
    """Reads one output piece by piece."""

    __slots__ = ("_collector", "_complete", "_reading", "_skipped", "_tape", "_turn")

    def __init__(self, reader: TurnReader, collector: Collector, *, prefill: str = "") -> None:
        """Begin; `prefill` is what the prompt wrote of the message."""
        self._tape = Tape()
        self._tape.sink_of = collector.sink_of
        self._turn = reader.turn
        self._collector = collector
        self._complete = True
        self._reading = reader.read(self._tape, collector)
        self._skipped = len(prefill)
        next(self._reading, None)
        if prefill:
            self._tape.feed(prefill)
            next(self._reading, None)
            self._leave_lane()
            collector.forget(self._tape)

    def feed(self, text: str, ids: Sequence[int] | None = None) -> list[Delta]:
        """Take a piece of text; return what it adds to the message.

        `ids` are the tokens that are new, for a parser that was made with a tokenizer; another
        raises RequestError.
        """
        tape = self._tape
        lane = tape.lane
        if lane is not None and text and ids is None:
            # The usual case, which has to cost next to nothing.
            if lane.held:
                text = lane.held + text
                lane.held = ""
            if lane.search(text) is not None:
                return self._looked_at(lane, text)
            if lane.ends and text[-1] in lane.ends:
                # One sign at the end is all that there usually is.
                if text[-2:-1] in lane.ends:
                    return self._looked_at(lane, text)
                lane.held = text[-1]
                text = text[:-1]
            lane.append(text)
            kind = lane.delta
            return self._collector.take() if kind is None else [Delta(kind, text, lane.index)]
        if ids is not None:
            raise RequestError(
                "token ids were given to a parser that does not know their texts",
                hint="make the parser with tokenizer=…",
            )
        if not text or tape.closed:
            return []
        return self._seen(text)

    def _looked_at(self, lane: Lane, text: str) -> list[Delta]:
        """Take a piece of text of which not all may pass by, or not as it is."""
        passed = lane.passing(text)
        if passed is None:
            return self._seen(text)
        if not passed:
            return []
        if lane.write is None:
            lane.append(passed)
        else:
            written = lane.write(passed)
            self._tape.pass_written(lane, passed, written)
            passed = written
        kind = lane.delta
        return self._collector.take() if kind is None else [Delta(kind, passed, lane.index)]

    def _seen(self, text: str) -> list[Delta]:
        """Take a piece of text that the reader has to see."""
        if self._tape.lane is not None:
            self._leave_lane()
        self._tape.feed(text)
        next(self._reading, None)
        return self._collector.take()

    def _leave_lane(self) -> None:
        self._tape.leave_lane()
        self._collector.note_passed()

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; return what is left to add, and last the finish reason."""
        if self._tape.closed:
            return []
        self._leave_lane()
        self._tape.closed = True
        self._tape.complete = self._complete = complete
        next(self._reading, None)
        rest = self._tape.left()
        if rest:
            self._tape.take(rest, SpanKind.JUNK)
        reason = self._collector.finish_reason(complete=complete)
        return [*self._collector.take(), Delta(DeltaKind.FINISH, reason)]

    @property
    def reasoning_end(self) -> int | None:
        """The position right after what closed the reasoning, as in the message."""
        if self._turn.start is Start.CONTENT:
            return 0
        end = self._collector.reasoning_end
        return None if end is None else max(0, end - self._skipped)

    @property
    def message(self) -> ParsedMessage:
        """The message as far as it has come."""
        skipped = self._skipped
        spans = tuple(
            Span(max(0, span.start - skipped), span.end - skipped, span.kind)
            for span in self._tape.spans
            if span.end > skipped
        )
        finished = self._tape.closed and self._complete
        missing = "" if self._collector.ended or not finished else missing_end(self._turn, spans)
        return self._collector.message(
            spans,
            complete=self._complete,
            missing_end=missing,
            reasoning_end=self.reasoning_end,
            finished=self._tape.closed,
            skipped=skipped,
        )
