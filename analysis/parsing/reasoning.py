"""Reading reasoning, up to what closes it."""

from __future__ import annotations

from autoparser.analysis.expression import Start, Turn
from autoparser.analysis.format import Block, Literal
from autoparser.analysis.reading import Lane, Reading, SpanKind, Tape, skip_written

from .collector import Collector
from .marks import Mark, reasoning_stops


class ReasoningReader:
    """Reads one block of reasoning; its close alone, or the turn's end, can end it."""

    def __init__(self, turn: Turn) -> None:
        """Prepare to read the reasoning of a turn."""
        self.turn = turn
        self._stops = reasoning_stops(turn)
        close = "" if turn.reasoning is None else turn.reasoning.close.core
        # What closes reasoning before the next header may end the turn there, too.
        self._ends = any(end.core == close for end in turn.ends)

    def read(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read from behind what opens the reasoning to behind what closes it."""
        block = self.turn.reasoning
        if block is None:
            return
        begun = yield from self._opening(tape, collector, block)
        stops = self._stops
        lane = Lane(stops.search, SpanKind.REASONING, collector.reasoning)
        while True:
            while not tape.closed and stops.plain(tape.text, tape.at):
                collector.reasoning(tape.take(tape.left(), SpanKind.REASONING))
                tape.pass_by(lane)
                yield
            found = stops.find(tape.text, tape.at)
            if found is not None and (tape.closed or not stops.unsure(tape.text, found, tape.at)):
                cut = stops.written_before(tape.text, found, tape.at)
                collector.reasoning(tape.take(cut - tape.at, SpanKind.REASONING))
                if found.label is Mark.END:
                    return
                emptied = block.empty if tape.position == begun else None
                collector.reasoning_marker(tape.take(found.end - tape.at, SpanKind.MARKUP))
                collector.close_reasoning(tape.position)
                collector.drop_blank()
                collector.ended = self._ends
                after = block.close.after if emptied is None else emptied
                collector.reasoning_marker((yield from skip_written(tape, after)))
                return
            end = stops.safe(tape.text, tape.at)
            if tape.closed:
                begun = None if tape.complete else stops.begun(tape.text, tape.at)
                end = len(tape.text) if begun is None else begun.start
            if found is not None:
                end = min(end, found.start)
            if end > tape.at:
                collector.reasoning(tape.take(end - tape.at, SpanKind.REASONING))
            if tape.closed:
                tape.take(tape.left(), SpanKind.MARKUP)
                return
            yield

    def _opening(self, tape: Tape, collector: Collector, block: Block) -> Reading[int]:
        """Take what is left of the opening; say where a block that is empty would close."""
        mark = collector.reasoning_marker
        prompted = self.turn.start is Start.REASONING and not tape.position
        begun = -1 if prompted else tape.position
        after = self.turn.unwritten if prompted else block.open.after
        mark((yield from skip_written(tape, after)))
        if block.open.core:
            # A marker that the prompt has already written, written again.
            text = tape.position
            mark((yield from _skip_repeated(tape, block.open)))
            if tape.position != text:
                mark((yield from skip_written(tape, block.open.after)))
        return begun


def _skip_repeated(tape: Tape, literal: Literal) -> Reading[str]:
    """Take a literal that is there a second time, whitespace before it forgiven; return it."""
    while True:
        rest = tape.text[tape.at :]
        bare = rest.lstrip()
        if bare.startswith(literal.core):
            return tape.take(len(rest) - len(bare) + len(literal.core), SpanKind.MARKUP)
        if tape.closed or (bare and not literal.core.startswith(bare)):
            return ""
        yield
