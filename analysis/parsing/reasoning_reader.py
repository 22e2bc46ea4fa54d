"""Reading reasoning, up to what closes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from autoparser.analysis.core.literals import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.text_format import TurnPart

from .call_ends import section_closers
from .entry_openings import skip_written
from .json_text import Emit
from .message_collector import MessageCollector
from .parsed_message import ParsedCall, Status
from .prose_reader import read_prose
from .section_reader import SectionReader
from .stop_marks import (
    LONGEST_HEADER,
    ChannelFrame,
    StopMark,
    calls_in_reasoning,
    frame_of,
    reasoning_stops,
    recipient_pattern,
    skip_again,
)
from .text_lookahead import StopTable, TextLookahead
from .text_tape import Reading, SpanKind, TextTape
from .turn_request import ArgumentList, CallSection, RowCall, TurnStart, TurnTree

# Reading the header of a block where its words are not those that the template writes.


class HeaderReader:
    """Reads `<|channel|>any words<|message|>` where a header may stand, by the turn's frame."""

    def __init__(
        self, turn: TurnTree, section: SectionReader | None, offered: frozenset[str] | None
    ) -> None:
        """Prepare for turns of this expression; `offered` are the tools, None: any."""
        self._turn, self._offered, self._section = turn, offered, section
        self.frame = frame_of(turn)
        self._recipient = None if self.frame is None else recipient_pattern(turn, offered)
        cores = (*(end.core for end in turn.ends), turn.header.mark)
        first, last, lead = "", "", None
        if self.frame is not None:
            first, last, lead = self.frame.first, self.frame.last, self.frame.lead
        self._lead = "" if lead is None or section is None else lead.core
        self._openers = tuple(filter(None, (first, self._lead)))
        self._first: StopTable[bool] = StopTable(
            [("", first, True), *(("", core, False) for core in cores)]
        )
        self._inside: StopTable[bool] = StopTable(
            [("", last, True), *(("", core, False) for core in cores)]
        )

    def read(
        self, tape: TextTape, collector: MessageCollector, stops: StopTable[StopMark]
    ) -> Reading[StopMark | None]:
        """Read a header and, where it leads to a call, the call after it.

        None where there is no header, or one that the template writes so, which is among the
        `stops` of content: it is left. What stands before an opener that is there again is taken.
        """
        frame = self.frame
        if frame is None or not (yield from self._begins(tape)):
            return None
        size = yield from self._size(tape, frame)
        header = tape.text[tape.at : tape.at + abs(size)]
        if size < 0:
            if self._recipient is not None and self._recipient.search(header):
                return None
            tape.take(len(header), SpanKind.JUNK)
            collector.stray()
            return StopMark.HEADER
        if header and not header.endswith(frame.last):
            # The text was cut inside the header.
            tape.take(size, SpanKind.MARKUP)
            return StopMark.HEADER
        if _stops_at(stops, header, len(header) - len(header.lstrip())):
            return None
        calls = self._calls(header, tape)
        if calls is not None:
            space = tape.left() - len(tape.text[tape.at :].lstrip())
            ended = yield from calls.read(tape, collector, space)
            return StopMark.END if ended else StopMark.CALLS
        if not header:
            return None
        start = header.rindex(frame.first)
        tape.take(start, SpanKind.MARKUP)
        if _stops_at(stops, header, start):
            return None
        taken = tape.take(size - start, SpanKind.MARKUP)
        collector.drop_blank()
        taken += yield from skip_again(tape, TemplateLiteral.of(header))
        opened = _OPENED[frame.means(header[start:])]
        if opened is StopMark.REASONING:
            collector.reasoning_marker(taken)
        return opened

    def _has_other_role(self, tape: TextTape) -> Reading[bool]:
        """Whether the marker of a header comes, but not with the template's word behind it."""
        header = self._turn.header
        if not header.is_marked or len(header.units) == 1:
            return False
        ahead = TextLookahead(tape, tape.position)
        yield from ahead.space()
        return (yield from ahead.among((header.core, header.units[0]))) == header.units[0]

    def skip_role(self, tape: TextTape) -> Reading[None]:
        """Take words that a model wrote behind its role, if a call's header comes after them."""
        frame, recipient_ = self.frame, self._recipient
        if frame is None or recipient_ is None:
            return
        ahead = TextLookahead(tape, tape.position)
        if not (yield from ahead.first_of(self._first, LONGEST_HEADER)):
            return
        start = tape.offset + ahead.at
        yield from ahead.text(frame.first)
        if not (yield from ahead.first_of(self._inside, LONGEST_HEADER)):
            return
        yield from ahead.text(frame.last)
        if recipient_.search(tape.text[start - tape.offset : ahead.at]):
            tape.take(start - tape.position, SpanKind.JUNK)

    def _calls(self, header: str, tape: TextTape) -> SectionReader | None:
        """Return the reader of the call that comes next; None where no header leads to one."""
        named = None if self._recipient is None else self._recipient.search(header)
        if named is not None and self._turn.calls is not None:
            section = _headed(self._turn.calls, header[: named.start(1)], header[named.end(1) :])
            return SectionReader(self._turn, section, self._offered)
        leads = bool(self._lead) and tape.text[tape.at :].lstrip().startswith(self._lead)
        return self._section if leads else None

    def _begins(self, tape: TextTape) -> Reading[bool]:
        """Whether a header comes; another role before that of a call is taken."""
        if (yield from self._at_opener(tape)):
            return True
        if not (yield from self._has_other_role(tape)):
            return False
        yield from self.skip_role(tape)
        return (yield from self._at_opener(tape))

    def _at_opener(self, tape: TextTape) -> Reading[bool]:
        """Whether a header comes: the frame's first marker, or words that lead to a name."""
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            if bare.startswith(self._openers):
                return True
            open_ = any(opener.startswith(bare) for opener in self._openers)
            if tape.closed or not open_ or len(text) - len(bare) > LONGEST_HEADER:
                return False
            yield

    def _size(self, tape: TextTape, frame: ChannelFrame) -> Reading[int]:
        """Measure the header that has begun, whitespace before it included; 0: it is none.

        Negative where it heads nothing: the turn ends in it, or another header begins.
        """
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            if not bare.startswith(frame.first):
                return 0
            found = self._inside.find(bare, len(frame.first))
            if found is not None and found.end <= LONGEST_HEADER:
                if tape.closed or not self._inside.unsure(bare, found, 0):
                    space = len(text) - len(bare)
                    return space + found.end if found.label else -space - found.start
            elif tape.closed or len(bare) > LONGEST_HEADER:
                cut = found is None and tape.closed and not tape.complete
                return len(text) if cut and len(bare) <= LONGEST_HEADER else 0
            yield


_OPENED = {TurnPart.REASONING: StopMark.REASONING, TurnPart.CONTENT: StopMark.CONTENT}


def _stops_at(stops: StopTable[StopMark], text: str, start: int) -> bool:
    """Whether a stop stands at this very place of a text."""
    found = stops.find(text, start)
    return found is not None and found.start == start


def _headed(section: CallSection, before: str, after: str) -> CallSection:
    """Return the section whose call begins with a header just as it was written."""
    call = section.call
    if not isinstance(call, RowCall):
        return section
    row = call.row
    at = next(at for at, item in enumerate(row) if isinstance(item, ArgumentList))
    headed = (TemplateLiteral.of(before.lstrip()), row[1], TemplateLiteral.of(after), *row[at:])
    return replace(section, open=TemplateLiteral(), call=RowCall(headed))


# Whether a text that has come to its end holds a whole call: it is read to see.


class CallTrial:
    """Looks for the first whole call of an offered tool in reasoning that nothing closed."""

    def __init__(
        self, turn: TurnTree, section: SectionReader, offered: frozenset[str] | None
    ) -> None:
        """Prepare to try with the reader of a turn's calls; `offered` are the tools, None: any."""
        self._turn, self._section, self._offered = turn, section, offered
        closers: tuple[str, ...] = ()
        if turn.calls is not None:
            closers = (*section_closers(turn, turn.calls), *turn.calls.close.units)
        self._behind = ("", *closers, *(end.core for end in turn.ends))
        """What may stand after calls, of which a cut may have left the front."""

    def find(self, text: str) -> tuple[int, int] | None:
        """Say where the whitespace before the call begins, and the call itself; None: no call.

        Of many openings only the first few are tried, so that a text costs no more than its length
        times their number.
        """
        stops = calls_in_reasoning(self._turn, self._offered)
        at = 0
        for _ in range(_MOST_TRIED):
            found = stops.find(text, at)
            if found is None:
                return None
            if self._is_whole(text[found.start :]):
                return stops.written_before(text, found, 0), found.start
            at = found.end
        return None

    def goes_on(self, text: str) -> bool:
        """Whether a text that was cut is a call up to where it was: whole, or the front of one."""
        calls, cut, rest = self._tried(text.lstrip(), complete=False)
        return cut or (bool(calls) and any(text.startswith(rest.strip()) for text in self._behind))

    def _is_whole(self, text: str) -> bool:
        calls, _, _ = self._tried(text, complete=True)
        return bool(calls) and calls[0].status is Status.OK

    def _tried(self, text: str, *, complete: bool) -> tuple[Sequence[ParsedCall], bool, str]:
        """Read a text; return its calls, whether they were cut, and what comes after them."""
        tape = TextTape()
        tape.feed(text)
        tape.closed, tape.complete = True, complete
        collector = MessageCollector(
            self._offered, reasoning="separate", whole_calls=True, make_id=lambda _, __: ""
        )
        cut = False
        try:
            # On a tape that is closed no reader waits.
            next(self._section.read(tape, collector))
        except StopIteration as ended:
            cut = bool(ended.value)
        return collector.closed_calls, cut, tape.text[tape.at :]


_MOST_TRIED = 8


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
        self,
        turn: TurnTree,
        offered: frozenset[str] | None,
        trial: CallTrial | None,
        *,
        keeps: bool,
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

    def read(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
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

    def _until(self, tape: TextTape, emit: Emit, *, held: bool) -> Reading[_Stopped | None]:
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

    def _ends_there(self, tape: TextTape, size: int) -> Reading[bool]:
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

    def _held(
        self, tape: TextTape, collector: MessageCollector, size: int
    ) -> Reading[_Stopped | None]:
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

    def _opening(
        self, tape: TextTape, collector: MessageCollector, block: MarkerBlock
    ) -> Reading[int]:
        """Take what is left of the opening; say where a block that is empty would close."""
        mark = collector.reasoning_marker
        prompted = self.turn.start is TurnStart.REASONING and not tape.position
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


def _skip_repeated(tape: TextTape, literal: TemplateLiteral) -> Reading[str]:
    """Take a literal that is there a second time, whitespace before it forgiven; return it."""
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    if not (yield from ahead.text(literal.core)):
        return ""
    return tape.take(ahead.at - tape.at, SpanKind.MARKUP)
