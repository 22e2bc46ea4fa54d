"""The parser of one request: in one shot, or as the text comes."""

from __future__ import annotations

from collections.abc import Callable

from autoparser.analysis.expression import Start, Turn
from autoparser.analysis.reading import Span, SpanKind, Tape

from .call_ids import CallIds
from .collector import Collector
from .ending import missing_end
from .message import Delta, DeltaKind, ParsedMessage, ReasoningIn
from .turn import TurnReader


class OutputParser:
    """Reads what a model wrote for one request. Nothing that it is given makes it raise."""

    def __init__(
        self,
        turn: Turn,
        *,
        offered: frozenset[str] | None = None,
        reasoning: ReasoningIn = "separate",
        whole_calls: bool = False,
        call_ids: Callable[[str, int], str] | int | None = None,
    ) -> None:
        """Make the parser of an expression; `offered` are the tools, None: any.

        `whole_calls` gives a call only once it closed. `call_ids` makes the ids of calls that are
        written without one; a number is the seed of such a maker. Where it makes an empty one, the
        call's number stands for it in OpenAI's form.
        """
        self.turn = turn
        self._reader = TurnReader(turn, offered)
        self.offered = offered
        self._reasoning: ReasoningIn = reasoning
        self._whole_calls = whole_calls
        self._make_id = call_ids if callable(call_ids) else CallIds(call_ids)

    def parse(self, text: str, *, complete: bool = True) -> ParsedMessage:
        """Read a whole output; `complete=False` says that it was cut on purpose."""
        stream = self.stream()
        stream.feed(text)
        stream.finish(complete=complete)
        return stream.message

    def stream(self) -> StreamParser:
        """Begin to read an output that comes in pieces."""
        collector = Collector(
            self.offered,
            reasoning=self._reasoning,
            whole_calls=self._whole_calls,
            make_id=self._make_id,
        )
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
            self.feed(prefill)
            collector.forget()

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
        """Say that no more text comes; give what is left to add, and last the finish reason."""
        if self._tape.closed:
            return []
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
        """The position right behind what closed the reasoning, as in the message."""
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
        )
