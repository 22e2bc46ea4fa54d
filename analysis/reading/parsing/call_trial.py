"""Whether a text that has come to its end holds a whole call: it is read to see."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.reading.expression import Turn
from autoparser.analysis.reading.text import Tape

from .closers import section_closers
from .collector import Collector
from .parsed_message import ParsedCall, Status
from .section_reader import SectionReader
from .stop_marks import calls_in_reasoning


class CallTrial:
    """Looks for the first whole call of an offered tool in reasoning that nothing closed."""

    def __init__(self, turn: Turn, section: SectionReader, offered: frozenset[str] | None) -> None:
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
        tape = Tape()
        tape.feed(text)
        tape.closed, tape.complete = True, complete
        collector = Collector(
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
