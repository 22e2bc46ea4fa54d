"""Whether a text that has come to its end holds a whole call: it is read to see."""

from __future__ import annotations

from autoparser.analysis.expression import Turn
from autoparser.analysis.reading import Tape

from .collector import Collector
from .marks import calls_in_reasoning
from .message import Status
from .section import SectionReader


class CallTrial:
    """Looks for the first whole call of an offered tool in reasoning that nothing closed."""

    def __init__(self, turn: Turn, section: SectionReader, offered: frozenset[str] | None) -> None:
        """Prepare to try with the reader of a turn's calls; `offered` are the tools, None: any."""
        self._turn, self._section, self._offered = turn, section, offered

    def find(self, text: str) -> tuple[int, int] | None:
        """Say where the whitespace before the call begins, and the call itself; None: no call.

        Of many openings only the first few are tried, so that a text costs no more than its length
        times their number.
        """
        stops = calls_in_reasoning(self._turn)
        at = 0
        for _ in range(_MOST_TRIED):
            found = stops.find(text, at)
            if found is None:
                return None
            if self._is_whole(text[found.start :]):
                return stops.written_before(text, found, 0), found.start
            at = found.end
        return None

    def _is_whole(self, text: str) -> bool:
        tape = Tape()
        tape.feed(text)
        tape.closed = tape.complete = True
        collector = Collector(self._offered, inline=False, whole_calls=True)
        # On a tape that is closed no reader waits.
        next(self._section.read(tape, collector), None)
        calls = collector.message((), complete=True, missing_end="").tool_calls
        return bool(calls) and calls[0].status is Status.OK


_MOST_TRIED = 8
