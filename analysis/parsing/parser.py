"""The parser of one request: in one shot, or as the text comes."""

from __future__ import annotations

from autoparser.analysis.expression import Turn
from autoparser.analysis.reading import Span, SpanKind, Tape

from .collector import Collector
from .ending import missing_end
from .message import Delta, ParsedMessage
from .turn import TurnReader


class OutputParser:
    """Reads what a model wrote for one request. Nothing that it is given makes it raise."""

    def __init__(
        self,
        turn: Turn,
        *,
        offered: frozenset[str] | None = None,
        inline: bool = False,
        whole_calls: bool = False,
        keeps_reasoning: bool = False,
    ) -> None:
        """Make the parser of an expression; `offered` are the tools, None: any.

        `inline` leaves reasoning in the content; `whole_calls` gives a call only once it closed;
        with `keeps_reasoning` only its close and the turn's end can end reasoning.
        """
        self.turn = turn
        self._reader = TurnReader(turn, offered, keeps_reasoning=keeps_reasoning)
        self.offered = offered
        self._inline = inline
        self._whole_calls = whole_calls

    def parse(self, text: str, *, complete: bool = True) -> ParsedMessage:
        """Read a whole output; `complete=False` says that it was cut on purpose."""
        stream = self.stream()
        stream.feed(text)
        stream.finish(complete=complete)
        return stream.message

    def stream(self) -> StreamParser:
        """Begin to read an output that comes in pieces."""
        collector = Collector(self.offered, inline=self._inline, whole_calls=self._whole_calls)
        return StreamParser(self._reader, collector, prefill=self.turn.prefill)


class StreamParser:
    """Reads one output piece by piece."""

    __slots__ = ("_collector", "_complete", "_reading", "_skipped", "_tape", "_turn")

    def __init__(self, reader: TurnReader, collector: Collector, *, prefill: str = "") -> None:
        """Begin; `prefill` is what the prompt wrote of the message."""
        self._tape = Tape()
        self._turn = reader.turn
        self._collector = collector
        self._complete = True
        self._reading = reader.read(self._tape, collector)
        self._skipped = len(prefill)
        next(self._reading, None)
        if prefill:
            self._tape.feed(prefill)
            next(self._reading, None)
            collector.forget(self._tape)

    def feed(self, text: str) -> list[Delta]:
        """Take a piece of text; give what it adds to the message."""
        tape = self._tape
        if not text or tape.closed:
            return []
        if not tape.passes(text):
            tape.feed(text)
            next(self._reading, None)
        return self._collector.take()

    def finish(self, *, complete: bool = True) -> list[Delta]:
        """Say that no more text comes; give what is left to add."""
        self._tape.closed = True
        self._tape.complete = self._complete = complete
        next(self._reading, None)
        rest = self._tape.left()
        if rest:
            self._tape.take(rest, SpanKind.JUNK)
        return self._collector.take()

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
        return self._collector.message(spans, complete=self._complete, missing_end=missing)
