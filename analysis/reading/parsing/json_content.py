"""Reading an answer that is JSON: markers inside its strings are text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoparser.analysis.reading.expression import Turn
from autoparser.analysis.reading.text import Lane, Reading, SpanKind, Stops, Tape

from .code_fence import close_fence, open_fence
from .collector import Collector


class JsonContent:
    """Reads one JSON value as content, character for character."""

    def __init__(self, turn: Turn, marks: Sequence[str], *, fenced: bool) -> None:
        """Prepare for turns of this expression; what ends the turn ends the value too.

        `marks` begin with a bracket, and are not arrays. Of a `fenced` value the fence is left out.
        """
        self._marks = tuple(marks)
        self._fenced = fenced
        self._ends: Stops[None] = Stops([("", end.core, None) for end in turn.ends])
        self._in_string = self._ends.searching('"\\').search

    def read(self, tape: Tape, collector: Collector) -> Reading[bool]:
        """Read a value, if one comes next; false where none has begun."""
        while not tape.text[tape.at :].strip():
            if tape.closed:
                return False
            yield
        fence = (yield from open_fence(tape)) if self._fenced else ""
        if not (yield from self._begins(tape)):
            return False
        yield from self._value(tape, collector)
        if fence:
            yield from close_fence(tape, fence)
        return True

    def _value(self, tape: Tape, collector: Collector) -> Reading[None]:
        """Read a value that has begun, to its end or the turn's."""
        lane = Lane(self._in_string, SpanKind.CONTENT, collector.content)
        scan = _Scan()
        while True:
            limit = self._limit(tape)
            end = scan.read(tape.text, tape.at, limit)
            end = limit if tape.closed and not scan.done else end
            collector.content(tape.take(end - tape.at, SpanKind.CONTENT))
            if scan.done or tape.closed or self._ends.find(tape.text, tape.at) is not None:
                return
            if scan.quoted:
                tape.pass_by(lane)
            yield

    def _begins(self, tape: Tape) -> Reading[bool]:
        """Whether what comes is an object or an array, and no marker in brackets."""
        while True:
            rest = tape.text[tape.at :].lstrip()
            if rest[0] not in "{[" or rest.startswith(self._marks):
                return False
            if tape.closed or not any(mark.startswith(rest) for mark in self._marks):
                return True
            yield

    def _limit(self, tape: Tape) -> int:
        """Say up to where the text surely is not an end of the turn."""
        found = self._ends.find(tape.text, tape.at)
        if found is not None:
            return found.start
        return len(tape.text) if tape.closed else self._ends.safe(tape.text, tape.at)


class _Scan:
    """Follows the brackets and quotes of one JSON value, each character looked at once."""

    def __init__(self) -> None:
        self.depth = 0
        self.quoted = self.done = False

    def read(self, text: str, start: int, limit: int) -> int:
        """Follow a text; say up to where it is the value's. A last backslash waits."""
        for match in _SPECIAL.finditer(text, start, limit):
            char = match.group()
            if char == "\\":
                return match.start()
            if char == '"':
                self.quoted = not self.quoted
            elif not self.quoted and len(char) == 1:
                self.depth += 1 if char in "{[" else -1
                self.done = self.depth <= 0
                if self.done:
                    return match.end()
        return limit


_SPECIAL = re.compile(r'"|\\.?|[{}\[\]]', re.DOTALL)
