"""Reading reasoning, up to what closes it."""

from __future__ import annotations

from typing import NamedTuple

from autoparser.analysis.core.format import Block, Literal
from autoparser.analysis.reading.expression import Start, Turn
from autoparser.analysis.reading.text import Emit, Lookahead, Reading, SpanKind, Tape, skip_written

from .again import skip_again
from .call_trial import CallTrial
from .collector import Collector
from .prose import read_prose
from .stop_marks import StopMark, reasoning_stops


class _Stopped(NamedTuple):
    """What ended reasoning, and how many characters it and the whitespace before it have."""

    mark: StopMark
    size: int


class ReasoningReader:
    """Reads one block of reasoning; its close, what opens content, or the turn's end can end it.

    Where nothing closes it, a whole call inside it is a call, and ends it: from what opens a call
    on the text is held, until it shows which of the two it is.
    """

    def __init__(
        self, turn: Turn, offered: frozenset[str] | None, trial: CallTrial | None, *, keeps: bool
    ) -> None:
        """Prepare to read the reasoning of a turn; without a trial calls in it are text.

        Where it `keeps` reasoning, what opens calls or content in it is text, too.
        """
        self.turn = turn
        self._trial = trial
        self._stops = reasoning_stops(
            turn, offered, calls=trial is not None and not keeps, content=not keeps
        )
        self._closers = reasoning_stops(turn, offered, calls=False, content=not keeps)
        close = "" if turn.reasoning is None else turn.reasoning.close.core
        # What closes reasoning before the next header may end the turn there, too.
        self._ends = any(end.core == close for end in turn.ends)
        # The headers of other roles begin with the same marker.
        header = turn.header.units[0] if turn.header.is_marked else turn.header.mark
        cores = (*(end.core for end in turn.ends), header)
        self._behind_end = tuple(filter(None, cores))

    def read(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read from after what opens the reasoning to after what closes it.

        What ends it otherwise is left.
        """
        block = self.turn.reasoning
        if block is None:
            return
        begun = yield from self._opening(tape, collector, block)
        stopped = yield from self._until(tape, collector.reasoning, held=False)
        if stopped is not None and stopped.mark is StopMark.CALLS:
            stopped = yield from self._held(tape, collector, stopped.size)
        if stopped is None:
            # What a cut has left of a stop.
            tape.take(tape.left() if tape.closed and not tape.complete else 0, SpanKind.MARKUP)
            return
        if stopped.mark is not StopMark.REASONING_CLOSE:
            if stopped.mark is not StopMark.END:
                collector.close_reasoning(tape.position)
            return
        emptied = block.empty if tape.position == begun else None
        collector.reasoning_marker(tape.take(stopped.size, SpanKind.MARKUP))
        collector.close_reasoning(tape.position)
        collector.drop_blank()
        collector.ended = self._ends
        after = block.close.after if emptied is None else emptied
        collector.reasoning_marker((yield from skip_written(tape, after)))

    def _until(self, tape: Tape, emit: Emit, *, held: bool) -> Reading[_Stopped | None]:
        """Read up to what ends the reasoning; None: the text ended.

        An end that stands in the middle of it is text, and so are calls where it is `held`.
        """
        stops = self._closers if held else self._stops
        while True:
            found = yield from read_prose(tape, stops, SpanKind.REASONING, emit)
            if found is None:
                return None
            size = found.end - tape.at
            if found.label is not StopMark.END or (yield from self._ends_there(tape, size)):
                return _Stopped(found.label, size)
            emit(tape.take(size, SpanKind.REASONING))

    def _ends_there(self, tape: Tape, size: int) -> Reading[bool]:
        """Whether an end counts: nothing, another end or a header comes after it."""
        # So few characters are looked at, however many have come.
        most = size + _MOST_SPACE + max(map(len, self._behind_end), default=0) + 1
        while True:
            behind = tape.text[tape.at + size : tape.at + most]
            rest = behind.lstrip()
            if len(behind) - len(rest) > _MOST_SPACE or (tape.closed and not rest):
                return True
            if rest and rest.startswith(self._behind_end):
                return True
            if tape.closed or not any(text.startswith(rest) for text in self._behind_end):
                return False
            yield

    def _held(self, tape: Tape, collector: Collector, size: int) -> Reading[_Stopped | None]:
        """Hold what began like a call; return what ended the reasoning, CALLS where a call did."""
        held = [tape.take(size, SpanKind.REASONING)]
        stopped = yield from self._until(tape, held.append, held=True)
        text = "".join(held)
        call = None
        ended = stopped is not None and stopped.mark is StopMark.END
        if self._trial is not None and (ended or (stopped is None and tape.complete)):
            behind = tape.text[tape.at : tape.at + (0 if stopped is None else stopped.size)]
            call = self._trial.find(text + behind)
        if call is None:
            # A cut leaves open which of the two a call was: it is neither.
            cut = stopped is None and not tape.complete
            if cut and self._trial is not None and self._trial.goes_on(text):
                tape.put_back(text)
                tape.take(len(text), SpanKind.MARKUP)
            else:
                collector.reasoning(text)
            return stopped
        space, start = call
        tape.put_back(text[space:])
        collector.reasoning(text[:space])
        tape.take(start - space, SpanKind.MARKUP)
        return _Stopped(StopMark.CALLS, 0)

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
            mark((yield from skip_again(tape, block.open)))
            if tape.position != text:
                mark((yield from skip_written(tape, block.open.after)))
        return begun


_MOST_SPACE = 256
"""How much whitespace after an end is waited for, so that a wait costs no more than that."""


def _skip_repeated(tape: Tape, literal: Literal) -> Reading[str]:
    """Take a literal that is there a second time, whitespace before it forgiven; return it."""
    ahead = Lookahead(tape, tape.position)
    yield from ahead.space()
    if not (yield from ahead.text(literal.core)):
        return ""
    return tape.take(ahead.at - tape.at, SpanKind.MARKUP)
