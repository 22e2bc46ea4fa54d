"""Looking at what comes before it is taken: nothing that was seen is looked at again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from .stops import Stops
from .tape import Reading, Tape


class Lookahead:
    """A place in the text from which a reader looks on, and which moves past what is there.

    A reader that must wait for more text goes on where it stopped. So what decides over a marker
    costs as much as there is to see, however the text is cut, and however much stands after it.
    """

    __slots__ = ("_at", "short", "tape")

    def __init__(self, tape: Tape, at: int) -> None:
        """Look from a position in all that was fed."""
        self.tape = tape
        self._at = at
        self.short = False
        """Whether the text ended where a text that was looked for had begun."""

    @property
    def at(self) -> int:
        """The place in the tape's text."""
        return self._at - self.tape.offset

    def space(self) -> Reading[None]:
        """Move past whitespace; so much of it that no template writes it is not waited for."""
        tape, limit = self.tape, self._at + _LONGEST_SPACE
        while True:
            match = _SPACE.match(tape.text, self.at, limit - tape.offset)
            if match is not None:
                self._at = tape.offset + match.end()
            if self.at < len(tape.text) or tape.closed or self._at == limit:
                return
            yield

    def ended(self) -> Reading[bool]:
        """Look whether the text ends here."""
        while self.at >= len(self.tape.text) and not self.tape.closed:
            yield
        return self.at >= len(self.tape.text)

    def text(self, wanted: str) -> Reading[bool]:
        """Move past a text, where it is there."""
        tape = self.tape
        while True:
            text, at = tape.text, self.at
            if len(text) - at >= len(wanted):
                there = text.startswith(wanted, at)
                self._at += len(wanted) if there else 0
                return there
            if not wanted.startswith(text[at:]):
                return False
            if tape.closed:
                self.short = True
                return False
            yield

    def row(self, units: Iterable[str]) -> Reading[bool]:
        """Move past texts in order, whitespace before each aside, where all of them are there."""
        start = self._at
        for unit in units:
            yield from self.space()
            if not (yield from self.text(unit)):
                self._at = start
                return False
        return True

    def among(self, wanted: Iterable[str]) -> Reading[str | None]:
        """Move past the longest of these texts that is there."""
        for text in sorted(filter(None, wanted), key=len, reverse=True):
            if (yield from self.text(text)):
                return text
        return None

    def first_of(self, stops: Stops[bool], most: int) -> Reading[bool]:
        """Move up to the first of these texts within so many characters; return its label.

        False where none comes so soon.
        """
        tape, limit = self.tape, self._at + most
        while True:
            found = stops.find(tape.text, self.at)
            if found is not None and not tape.closed and stops.unsure(tape.text, found, self.at):
                yield
                continue
            end = stops.safe(tape.text, self.at) if found is None else found.start
            self._at = tape.offset + end
            if found is not None or tape.closed or self._at > limit:
                return found is not None and self._at <= limit and found.label
            yield

    def word(self, pattern: re.Pattern[str], longest: int) -> Reading[str]:
        """Move past a word and give it; empty where none is there, or one beyond this length."""
        tape = self.tape
        while True:
            text, at = tape.text, self.at
            match = pattern.match(text, at, at + longest + 1)
            end = at if match is None else match.end()
            if end - at > longest:
                return ""
            if end < len(text) or tape.closed:
                self._at += end - at
                return text[at:end]
            yield


GoesOn: TypeAlias = Callable[[Lookahead], Reading[bool | None]]
"""Whether a call goes on here, after its arguments: what closes it and then what may follow a call.

None where all of its closers stand there, and something else follows them.
"""


def anywhere(ahead: Lookahead) -> Reading[bool | None]:
    """Say that what may follow arguments ends them wherever it stands."""
    del ahead
    yield from ()
    return True


def nowhere(ahead: Lookahead) -> Reading[bool | None]:
    """Say that nothing is known to follow arguments."""
    del ahead
    yield from ()
    return False


_SPACE = re.compile(r"\s*")
_LONGEST_SPACE = 4096
