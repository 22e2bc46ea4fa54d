r"""Read free text, content or reasoning, up to a stop and pass it on as it comes.

A Markdown fence that a model puts around an answer in JSON is read apart:

    >>> fence_mark("```json\n")
    '```'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoparser.lazy_names import lazy_pattern

from .json_text import Emit
from .message_collector import MessageCollector
from .stop_marks import StopMark
from .text_lookahead import NO_JOINTS, FoundStop, MarkupJoints, StopTable, TextLookahead
from .text_tape import WHITESPACE, LaneSearch, Reading, SpanKind, TextLane, TextTape
from .turn_nodes import TurnTree

# The Markdown fence that models put around an answer in JSON.


_OPENING = lazy_pattern(r"\s*(`{3,}|~{3,})[ \t]*[\w.+-]{0,32}[ \t]*\r?\n\s*(?=[\[{])")
_BEGINNING = lazy_pattern(
    r"\s*(?:`{0,2}|~{0,2}|(?:`{3,}|~{3,})[ \t]*[\w.+-]{0,32}[ \t]*(?:\r|\r?\n\s*)?)"
)


def open_fence(tape: TextTape) -> Reading[str]:
    """Take the opening of a fence around an object or an array; return its mark, or empty."""
    while True:
        found = _OPENING.match(tape.text, tape.at)
        if found is not None:
            # The word after the mark names the language, so no text of the message is lost.
            before = tape.junk_letter
            tape.take(found.end() - tape.at, SpanKind.JUNK)
            tape.junk_letter = before
            return found.group(1)
        if tape.closed or _BEGINNING.fullmatch(tape.text, tape.at) is None:
            return ""
        yield


def fence_mark(opening: str) -> str:
    """Return the mark of a fence's opening, or empty if the text is only whitespace."""
    opening = opening.strip()
    return opening[: len(opening) - len(opening.lstrip("`"))]


def close_fence(tape: TextTape, mark: str) -> Reading[bool]:
    """Take the closer of a fence, with whitespace before it and the rest of its line.

    Returns False if it is not there or the mark is empty.
    """
    if not mark:
        return False
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    if not (yield from ahead.text(mark)):
        return False
    tape.take(ahead.at - tape.at, SpanKind.JUNK)
    while (yield from tape.wait(1)) and tape.text[tape.at] in WHITESPACE:
        if tape.take(1, SpanKind.JUNK) == "\n":
            break
    return True


# An answer that is JSON: markers inside its strings are text.


class JsonContent:
    """Reads one JSON value as content, character for character."""

    def __init__(self, turn: TurnTree, marks: Sequence[str], *, fenced: bool) -> None:
        """Prepare for turns of this expression; the end of the turn ends the value too.

        `marks` begin with a bracket but are not arrays. The fence of a `fenced` value is dropped.
        """
        self._marks = tuple(marks)
        self._fenced = fenced
        self._ends: StopTable[None] = StopTable([("", end.core, None) for end in turn.ends])
        self._in_string = LaneSearch(self._ends.searching('"\\').search)

    def read(self, tape: TextTape, collector: MessageCollector) -> Reading[bool]:
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

    def _value(self, tape: TextTape, collector: MessageCollector) -> Reading[None]:
        """Read a value that has begun, to its end or the turn's."""
        lane = TextLane(self._in_string, SpanKind.CONTENT, collector.content)
        scan = _Scan()
        while True:
            limit = self._limit(tape)
            end = scan.read(tape.text, tape.at, limit)
            # The scan waits at a last backslash, but no more text comes.
            end = limit if tape.closed and not scan.complete else end
            collector.content(tape.take(end - tape.at, SpanKind.CONTENT))
            if scan.complete or tape.closed or self._ends.find(tape.text, tape.at) is not None:
                return
            # Outside of strings every bracket counts, so only strings may bypass the reader.
            if scan.quoted:
                tape.pass_by(lane)
            yield

    def _begins(self, tape: TextTape) -> Reading[bool]:
        """Return whether an object or an array comes, not a marker in brackets."""
        while True:
            rest = tape.text[tape.at :].lstrip()
            # E.g. `[TOOL_CALLS]`, which is not an array.
            if rest[0] not in "{[" or rest.startswith(self._marks):
                return False
            # E.g. `[TOOL`, which may become that marker.
            if tape.closed or not any(mark.startswith(rest) for mark in self._marks):
                return True
            yield

    def _limit(self, tape: TextTape) -> int:
        """Return the offset up to which no end of the turn can have begun."""
        found = self._ends.find(tape.text, tape.at)
        if found is not None:
            return found.start
        return len(tape.text) if tape.closed else self._ends.safe(tape.text, tape.at)


class _Scan:
    """Follows the brackets and quotes of one JSON value, each character looked at once."""

    def __init__(self) -> None:
        self.depth = 0
        self.quoted = self.complete = False

    def read(self, text: str, start: int, limit: int) -> int:
        """Scan a text; return the offset up to which it is the value's. A last backslash waits."""
        for match in _SPECIAL.finditer(text, start, limit):
            char = match.group()
            if char == "\\":
                return match.start()
            if char == '"':
                self.quoted = not self.quoted
            # The match is a whole escape, such as `\"`, not a bracket.
            elif not self.quoted and len(char) == 1:
                self.depth += 1 if char in "{[" else -1
                self.complete = self.depth <= 0
                if self.complete:
                    return match.end()
        return limit


_SPECIAL = lazy_pattern(r'"|\\.?|[{}\[\]]', re.DOTALL)


def read_prose(
    tape: TextTape,
    stops: StopTable[StopMark],
    kind: SpanKind,
    emit: Emit,
    tail: str = "",
    joints: MarkupJoints = NO_JOINTS,
) -> Reading[FoundStop[StopMark] | None]:
    """Take free text up to a stop and the whitespace that the template writes before it.

    The stop is left and returned; its offset is valid until more text is fed. Returns None if the
    text ended first; then the whitespace of `tail`, as far as it is there, or the front of a cut
    stop is left. A text that is the front of one of the `joints` is not looked at.
    """
    while True:
        found = stops.find(tape.text, tape.at)
        if found is not None and tape.closed and _may_be_other(tape, stops, found):
            found = None
        if found is not None and (tape.closed or not stops.unsure(tape.text, found, tape.at)):
            before = found.start - tape.at
            size = before and stops.written_before(tape.text, found, tape.at) - tape.at
            emit(tape.take(size, kind))
            return found
        end = _end(tape, stops, tail) if tape.closed else stops.safe(tape.text, tape.at)
        if found is not None:
            end = min(end, found.start)
        if end > tape.at:
            emit(tape.take(end - tape.at, kind))
        if tape.closed and found is None:
            return None
        if found is None:
            tape.pass_by(stops.lane(kind, emit, begun=joints.begun))
        # A lane holds the front of a stop by itself.
        if tape.lane is None:
            left = tape.at < len(tape.text)
            tape.still = (left and joints.while_begun(tape)) or stops.while_begun(tape)
        yield


def _may_be_other(tape: TextTape, stops: StopTable[StopMark], stop: FoundStop[StopMark]) -> bool:
    """Return whether an apparent opening of calls may be the front of another, cut stop."""
    if not tape.closed or tape.complete or stop.label is not StopMark.CALLS:
        return False
    begun = stops.cut_stop(tape.text, tape.at)
    if begun is None:
        return False
    return begun.start <= stop.start and begun.label is not StopMark.CALLS


def _end(tape: TextTape, stops: StopTable[StopMark], tail: str) -> int:
    """Return the offset at which free text ends at the end of all text."""
    text, end = tape.text, len(tape.text)
    if not tape.complete:
        begun = stops.cut_stop(text, tape.at)
        return end if begun is None else begun.start
    for char in reversed(tail):
        if end <= tape.at or text[end - 1] != char:
            break
        end -= 1
    return end
