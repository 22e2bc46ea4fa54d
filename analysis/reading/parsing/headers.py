"""Reading the header of a block where its words are not those that the template writes."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.format import Literal, Part
from autoparser.analysis.reading.expression import ArgumentList, RowCall, Section, Turn
from autoparser.analysis.reading.text import Lookahead, Reading, SpanKind, Stops, Tape

from .again import skip_again
from .channel_frame import LONGEST_HEADER, ChannelFrame, frame_of, recipient
from .collector import Collector
from .section_reader import SectionReader
from .stop_marks import StopMark


class HeaderReader:
    """Reads `<|channel|>any words<|message|>` where a header may stand, by the turn's frame."""

    def __init__(
        self, turn: Turn, section: SectionReader | None, offered: frozenset[str] | None
    ) -> None:
        """Prepare for turns of this expression; `offered` are the tools, None: any."""
        self._turn, self._offered, self._section = turn, offered, section
        self.frame = frame_of(turn)
        self._recipient = None if self.frame is None else recipient(turn, offered)
        cores = (*(end.core for end in turn.ends), turn.header.mark)
        first, last, lead = "", "", None
        if self.frame is not None:
            first, last, lead = self.frame.first, self.frame.last, self.frame.lead
        self._lead = "" if lead is None or section is None else lead.core
        self._openers = tuple(filter(None, (first, self._lead)))
        self._first: Stops[bool] = Stops(
            [("", first, True), *(("", core, False) for core in cores)]
        )
        self._inside: Stops[bool] = Stops(
            [("", last, True), *(("", core, False) for core in cores)]
        )

    def read(
        self, tape: Tape, collector: Collector, stops: Stops[StopMark]
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
        taken += yield from skip_again(tape, Literal.of(header))
        opened = _OPENED[frame.means(header[start:])]
        if opened is StopMark.REASONING:
            collector.reasoning_marker(taken)
        return opened

    def _has_other_role(self, tape: Tape) -> Reading[bool]:
        """Whether the marker of a header comes, but not with the template's word behind it."""
        header = self._turn.header
        if not header.is_marked or len(header.units) == 1:
            return False
        ahead = Lookahead(tape, tape.position)
        yield from ahead.space()
        return (yield from ahead.among((header.core, header.units[0]))) == header.units[0]

    def skip_role(self, tape: Tape) -> Reading[None]:
        """Take words that a model wrote behind its role, if a call's header comes after them."""
        frame, recipient_ = self.frame, self._recipient
        if frame is None or recipient_ is None:
            return
        ahead = Lookahead(tape, tape.position)
        if not (yield from ahead.first_of(self._first, LONGEST_HEADER)):
            return
        start = tape.offset + ahead.at
        yield from ahead.text(frame.first)
        if not (yield from ahead.first_of(self._inside, LONGEST_HEADER)):
            return
        yield from ahead.text(frame.last)
        if recipient_.search(tape.text[start - tape.offset : ahead.at]):
            tape.take(start - tape.position, SpanKind.JUNK)

    def _calls(self, header: str, tape: Tape) -> SectionReader | None:
        """Return the reader of the call that comes next; None where no header leads to one."""
        named = None if self._recipient is None else self._recipient.search(header)
        if named is not None and self._turn.calls is not None:
            section = _headed(self._turn.calls, header[: named.start(1)], header[named.end(1) :])
            return SectionReader(self._turn, section, self._offered)
        leads = bool(self._lead) and tape.text[tape.at :].lstrip().startswith(self._lead)
        return self._section if leads else None

    def _begins(self, tape: Tape) -> Reading[bool]:
        """Whether a header comes; another role before that of a call is taken."""
        if (yield from self._at_opener(tape)):
            return True
        if not (yield from self._has_other_role(tape)):
            return False
        yield from self.skip_role(tape)
        return (yield from self._at_opener(tape))

    def _at_opener(self, tape: Tape) -> Reading[bool]:
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

    def _size(self, tape: Tape, frame: ChannelFrame) -> Reading[int]:
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


_OPENED = {Part.REASONING: StopMark.REASONING, Part.CONTENT: StopMark.CONTENT}


def _stops_at(stops: Stops[StopMark], text: str, start: int) -> bool:
    """Whether a stop stands at this very place of a text."""
    found = stops.find(text, start)
    return found is not None and found.start == start


def _headed(section: Section, before: str, after: str) -> Section:
    """Return the section whose call begins with a header just as it was written."""
    call = section.call
    if not isinstance(call, RowCall):
        return section
    row = call.row
    at = next(at for at, item in enumerate(row) if isinstance(item, ArgumentList))
    headed = (Literal.of(before.lstrip()), row[1], Literal.of(after), *row[at:])
    return replace(section, open=Literal(), call=RowCall(headed))
