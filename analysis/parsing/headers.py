"""Reading the header of a block where its words are not those that the template writes."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.expression import ArgumentList, RowCall, Section, Turn
from autoparser.analysis.format import Literal, Part
from autoparser.analysis.reading import Reading, SpanKind, Stops, Tape

from .again import skip_again
from .collector import Collector
from .frame import Frame, frame_of, recipient, worded_lead
from .marks import Mark
from .section import SectionReader


class HeaderReader:
    """Reads `<|channel|>any words<|message|>` where a header may stand, by the turn's frame."""

    def __init__(
        self, turn: Turn, section: SectionReader | None, offered: frozenset[str] | None
    ) -> None:
        """Prepare for turns of this expression; `offered` are the tools, None: any."""
        self._turn, self._offered, self._section = turn, offered, section
        self.frame = frame_of(turn)
        self.lead = None if self.frame is None else worded_lead(turn)
        """The words that lead to a call's name, where headers are read."""
        self._recipient = None if self.lead is None else recipient(self.lead, offered)
        cores = (*(end.core for end in turn.ends), turn.header.mark)
        first, last = ("", "") if self.frame is None else (self.frame.first, self.frame.last)
        lead = "" if self.lead is None or section is None else self.lead.core
        self._openers: tuple[str, ...] = (first, lead) if lead else (first,)
        self._inside: Stops[bool] = Stops(
            [("", last, True), *(("", core, False) for core in cores)]
        )

    def read(self, tape: Tape, collector: Collector, stops: Stops[Mark]) -> Reading[Mark | None]:
        """Read a header and, where it names a function that is offered, the call behind it.

        None where there is no header, or one that the template writes so, which is among the
        `stops` of content: it is left. What stands before an opener that is there again is taken.
        """
        frame = self.frame
        if frame is None:
            return None
        opener = yield from self._begins(tape)
        if opener is None:
            return None
        if opener != frame.first and self._section is not None:
            space = tape.left() - len(tape.text[tape.at :].lstrip())
            ended = yield from self._section.read(tape, collector, space)
            return Mark.END if ended else Mark.CALLS
        size = yield from self._size(tape, frame)
        header = tape.text[tape.at : tape.at + size]
        if not header:
            return None
        if not header.endswith(frame.last):
            # The text was cut inside the header.
            tape.take(size, SpanKind.MARKUP)
            return Mark.HEADER
        calls = self._calls(header)
        if calls is not None:
            ended = yield from calls.read(tape, collector, len(header) - len(header.lstrip()))
            return Mark.END if ended else Mark.CALLS
        start = header.rindex(frame.first)
        tape.take(start, SpanKind.MARKUP)
        found = stops.find(header, start)
        if found is not None and found.start == start:
            return None
        tape.take(size - start, SpanKind.MARKUP)
        collector.drop_blank()
        yield from skip_again(tape, Literal.of(header))
        words = header[start + len(frame.first) : -len(frame.last)].strip()
        return Mark.REASONING if frame.means(words) is Part.REASONING else Mark.CONTENT

    def _calls(self, header: str) -> SectionReader | None:
        """Give the reader of the call that a header leads to; None where it names no tool."""
        named = None if self._recipient is None else self._recipient.search(header)
        if named is None or self._turn.calls is None:
            return None
        section = _headed(self._turn.calls, header[: named.start(1)], header[named.end(1) :])
        return SectionReader(self._turn, section, self._offered)

    def _begins(self, tape: Tape) -> Reading[str | None]:
        """Say what a header comes with: the frame's first marker, or words that lead to a name."""
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            for opener in self._openers:
                if bare.startswith(opener):
                    return opener
            open_ = any(opener.startswith(bare) for opener in self._openers)
            if tape.closed or not open_ or len(text) - len(bare) > _LONGEST:
                return None
            yield

    def _size(self, tape: Tape, frame: Frame) -> Reading[int]:
        """Measure the header that has begun, whitespace before it included; 0: it is none."""
        while True:
            text = tape.text[tape.at :]
            bare = text.lstrip()
            found = self._inside.find(bare, len(frame.first))
            if found is not None and found.end <= _LONGEST:
                if tape.closed or not self._inside.unsure(bare, found, 0):
                    return len(text) - len(bare) + found.end if found.label else 0
            elif tape.closed or len(bare) > _LONGEST:
                cut = found is None and tape.closed and not tape.complete
                return len(text) if cut and len(bare) <= _LONGEST else 0
            yield


def _headed(section: Section, before: str, after: str) -> Section:
    """Give the section whose call begins with a header just as it was written."""
    call = section.call
    if not isinstance(call, RowCall):
        return section
    row = call.row
    at = next(at for at, item in enumerate(row) if isinstance(item, ArgumentList))
    headed = (Literal.of(before.lstrip()), row[1], Literal.of(after), *row[at:])
    return replace(section, open=Literal(), call=RowCall(headed))


_LONGEST = 160
"""How many characters a header may have: a longer text is none."""
