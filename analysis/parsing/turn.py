"""Reading a whole turn: which text is reasoning, content or a call, and where the turn ends."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from autoparser.analysis.alignment import is_unit
from autoparser.analysis.expression import (
    JsonCall,
    Literal,
    RowCall,
    Section,
    Start,
    Turn,
)
from autoparser.analysis.format import Limit
from autoparser.analysis.reading import (
    Reading,
    SpanKind,
    Tape,
    at_text,
    behind_space,
    read_literal,
    skip_space,
    skip_written,
)

from .calls import CallEnd, Surroundings, read_call
from .collector import Collector
from .message import Status
from .stops import Found, Stops
from .triggers import call_open, call_opens, is_marked, named_triggers, trigger


class _Mark(Enum):
    """What a stop in the content means."""

    HEADER = auto()
    REASONING = auto()
    REASONING_CLOSE = auto()
    CONTENT = auto()
    CONTENT_CLOSE = auto()
    CALLS = auto()
    END = auto()


class TurnReader:
    """Walks the expression of a turn along a tape."""

    def __init__(self, turn: Turn, offered: frozenset[str] | None) -> None:
        """Prepare to read turns of this expression; `offered` are the tools, None: any."""
        self.turn = turn
        self.offered = offered
        reasoning = turn.reasoning
        self._reasoning_stops: Stops[_Mark] = Stops(
            []
            if reasoning is None
            else [
                _stop(reasoning.close, _Mark.REASONING_CLOSE),
                *(_stop(end, _Mark.END) for end in turn.ends if is_unit(end.core)),
            ]
        )
        self._stops: Stops[_Mark] = Stops(list(self._content_stops()))
        self._tail = len(turn.tail)
        self._ends = tuple(end.core for end in turn.ends)
        self._written_behind = {
            _Mark.REASONING_CLOSE: "" if reasoning is None else reasoning.close.after,
            _Mark.CONTENT: turn.content.open.after,
            _Mark.CONTENT_CLOSE: turn.content.close.after,
            _Mark.HEADER: turn.header.after + turn.lead,
        }
        self._around = Surroundings(
            stops=tuple(self._behind_calls()),
            offered=offered,
            tentative=turn.calls is not None and not is_marked(turn.calls),
        )

    def _content_stops(self) -> Iterator[tuple[str, str, _Mark]]:
        turn = self.turn
        for end in turn.ends:
            yield _stop(end, _Mark.END)
        if turn.calls is not None:
            space = turn.calls.space
            for literal in call_opens(turn.calls):
                text = trigger(literal)
                if any(text == end.core for end in turn.ends):
                    text = literal.core
                yield space + literal.before, text, _Mark.CALLS
            names = tuple(named_triggers(turn.calls, self.offered))
            for text in names:
                yield space, text, _Mark.CALLS
            if not is_marked(turn.calls) and not names:
                yield space, "[" if turn.calls.open.core.startswith("[") else "{", _Mark.CALLS
        if turn.reasoning is not None:
            yield _stop(turn.reasoning.open, _Mark.REASONING)
            yield _stop(turn.reasoning.close, _Mark.REASONING_CLOSE)
        yield _stop(turn.content.close, _Mark.CONTENT_CLOSE)
        for literal in (turn.content.open, *turn.content.others):
            yield _stop(literal, _Mark.CONTENT)
        if any(is_unit(unit) for unit in turn.header.units):
            yield _stop(turn.header, _Mark.HEADER)

    def _behind_calls(self) -> Iterator[str]:
        turn = self.turn
        for end in turn.ends:
            yield end.core
        if turn.calls is not None:
            section = turn.calls
            for literal in (*call_opens(section), section.close):
                if literal.core and is_unit(trigger(literal)):
                    yield trigger(literal)

    def read(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read to the end of the text."""
        if self._begins_reasoning():
            yield from self._reasoning(tape, collector)
        if self.turn.start is Start.HEADER:
            yield from skip_written(tape, self.turn.lead)
        while not (tape.closed and not tape.left()):
            ended = yield from self._content(tape, collector)
            if ended:
                break
        yield from self._junk(tape)

    def _begins_reasoning(self) -> bool:
        """Whether the text begins in the reasoning: the prompt opened it, or nothing ever does."""
        reasoning = self.turn.reasoning
        if self.turn.start in (Start.REASONING, Start.CONTENT):
            return self.turn.start is Start.REASONING
        return reasoning is not None and reasoning.leads

    def _junk(self, tape: Tape) -> Reading[None]:
        while True:
            tape.take(tape.left(), SpanKind.JUNK)
            if tape.closed:
                return
            yield

    def _reasoning(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read reasoning to its close, which alone can end it."""
        block = self.turn.reasoning
        if block is None:
            return
        prompted = self.turn.start is Start.REASONING and not tape.position
        yield from skip_written(tape, self.turn.unwritten if prompted else block.open.after)
        if block.open.core:
            # A marker that the prompt has already written, written again.
            text = tape.position
            yield from _skip_repeated(tape, block.open)
            if tape.position != text:
                yield from skip_written(tape, block.open.after)
        stops = self._reasoning_stops
        while True:
            while not tape.closed and stops.plain(tape.text, tape.at):
                collector.reasoning(tape.take(len(tape.text) - tape.at, SpanKind.REASONING))
                yield
            found = stops.find(tape.text, tape.at)
            if found is not None:
                cut = stops.written_before(tape.text, found, tape.at)
                collector.reasoning(tape.take(cut - tape.at, SpanKind.REASONING))
                if found.label is _Mark.END:
                    return
                tape.take(found.end - tape.at, SpanKind.MARKUP)
                collector.drop_blank()
                yield from skip_written(tape, block.close.after)
                return
            end = len(tape.text) if tape.closed else stops.safe(tape.text, tape.at)
            if end > tape.at:
                collector.reasoning(tape.take(end - tape.at, SpanKind.REASONING))
            if tape.closed:
                return
            yield

    def _content(self, tape: Tape, collector: Collector) -> Reading[bool]:
        """Read content up to the next stop and what the stop opens; true where the turn ended."""
        stops = self._stops
        while True:
            while not tape.closed and stops.plain(tape.text, tape.at):
                collector.content(tape.take(len(tape.text) - tape.at, SpanKind.CONTENT))
                yield
            found = stops.find(tape.text, tape.at)
            if found is not None and (tape.closed or not stops.longer(tape.text, found)):
                cut = stops.written_before(tape.text, found, tape.at)
                if cut > tape.at:
                    collector.content(tape.take(cut - tape.at, SpanKind.CONTENT))
                return (yield from self._stopped(tape, collector, found))
            end = self._end(tape) if tape.closed else stops.safe(tape.text, tape.at, self._tail)
            if found is not None:
                end = min(end, found.start)
            if end > tape.at:
                collector.content(tape.take(end - tape.at, SpanKind.CONTENT))
            if tape.closed and found is None:
                tape.take(tape.left(), SpanKind.MARKUP)
                return True
            yield

    def _end(self, tape: Tape) -> int:
        """Say where the content ends that the end of the text closes."""
        text, end = tape.text, len(tape.text)
        for char in reversed(self.turn.tail):
            if end <= tape.at or text[end - 1] != char:
                break
            end -= 1
        return end

    def _stopped(self, tape: Tape, collector: Collector, found: Found[_Mark]) -> Reading[bool]:
        """Go on behind a stop in the content."""
        turn = self.turn
        if found.label is _Mark.CALLS:
            tape.take(found.start - tape.at, SpanKind.MARKUP)
            yield from self._calls(tape, collector)
            return False
        tape.take(found.end - tape.at, SpanKind.MARKUP)
        if found.label in (_Mark.END, _Mark.REASONING, _Mark.CONTENT):
            collector.drop_blank()
        if found.label is _Mark.END:
            if not (turn.goes_on and (yield from behind_space(tape, turn.header.core))):
                return True
            yield from skip_space(tape)
            return False
        if found.label is _Mark.REASONING:
            yield from self._reasoning(tape, collector)
        else:
            yield from skip_written(tape, self._written_behind[found.label])
        return False

    def _calls(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read a section: one call or several, and what closes them."""
        section = self.turn.calls
        if section is None:
            return
        start = tape.position
        tape.record()
        opened = False
        if section.open.core and (yield from at_text(tape, trigger(section.open))):
            opened = yield from read_literal(tape, section.open)
            yield from self._noise(tape, section)
        first = True
        while True:
            if not first:
                start = tape.position
                tape.record()
            ended = yield from read_call(tape, section.call, self._around, collector)
            if ended is CallEnd.CUT and (collector.calling or not self._around.tentative):
                tape.recorded()
                collector.status = Status.CUT
                yield from self._junk(tape)
                return
            if ended is not CallEnd.CLOSED:
                self._give_up(tape, collector, start)
                return
            tape.recorded()
            collector.drop_blank()
            if not first and section.later_close.core:
                yield from self._close(tape, section.later_close)
            first = False
            if section.limit is not Limit.MANY or not (yield from self._another(tape, opened)):
                break
        if section.close.core:
            yield from self._close(tape, section.close)
        yield from skip_written(tape, section.behind)

    def _noise(self, tape: Tape, section: Section) -> Reading[None]:
        """Take what a model wrote between a section's opening and its first call."""
        opening = call_open(section.call)
        if not opening.core or not is_unit(trigger(opening)):
            return
        stops: Stops[None] = Stops(
            [("", text, None) for text in (trigger(opening), section.close.core, *self._ends)]
        )
        while True:
            found = stops.find(tape.text, tape.at)
            end = stops.safe(tape.text, tape.at) if found is None else found.start
            if tape.closed and found is None:
                return
            tape.take(end - tape.at, SpanKind.JUNK)
            if found is not None:
                return
            yield

    def _give_up(self, tape: Tape, collector: Collector, start: int) -> None:
        """Turn what was taken for a call into content."""
        text = tape.recorded()
        if not text and tape.left():
            text = tape.take(1, SpanKind.CONTENT)
        tape.relabel(start, SpanKind.CONTENT)
        if not self._around.tentative or collector.calling:
            collector.give_up_call()
        collector.content(text)

    def _another(self, tape: Tape, opened: bool) -> Reading[bool]:
        """Look whether another call follows; take what separates it."""
        section = self.turn.calls
        if section is None:
            return False
        separator = section.separator.core
        if separator and (yield from behind_space(tape, separator)):
            yield from skip_space(tape)
            tape.take(len(separator), SpanKind.MARKUP)
            yield from skip_space(tape)
            header = self.turn.header
            if header.core and (yield from at_text(tape, header.core)):
                tape.take(len(header.core), SpanKind.MARKUP)
            return True
        opens = call_open(section.call)
        if opens.core and (opened or is_unit(trigger(opens))):
            wanted = trigger(opens)
        elif isinstance(section.call, JsonCall) and (opened or not is_marked(section)):
            wanted = "{"
        elif opened and isinstance(section.call, RowCall):
            return (yield from self._named_call(tape, section))
        else:
            return False
        another = yield from behind_space(tape, wanted)
        if another:
            yield from skip_space(tape)
        return another

    def _named_call(self, tape: Tape, section: Section) -> Reading[bool]:
        """Look whether a call follows that begins with its name."""
        close = section.close.units[:1]
        if close and (yield from behind_space(tape, close[0])):
            return False
        yield from skip_space(tape)
        there = yield from tape.wait(1)
        return there and (tape.text[tape.at].isalnum() or tape.text[tape.at] == "_")

    def _close(self, tape: Tape, literal: Literal) -> Reading[None]:
        """Take what closes calls, where it is there."""
        if (yield from behind_space(tape, literal.units[0])):
            yield from read_literal(tape, literal)


def _skip_repeated(tape: Tape, literal: Literal) -> Reading[None]:
    """Take a literal that is there a second time, whitespace before it forgiven."""
    while True:
        rest = tape.text[tape.at :]
        bare = rest.lstrip()
        if bare.startswith(literal.core):
            tape.take(len(rest) - len(bare) + len(literal.core), SpanKind.MARKUP)
            return
        if tape.closed or (bare and not literal.core.startswith(bare)):
            return
        yield


def _stop(literal: Literal, mark: _Mark) -> tuple[str, str, _Mark]:
    return literal.before, literal.core, mark
