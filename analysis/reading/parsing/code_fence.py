"""Reading the fence of Markdown that models put around an answer in JSON."""

from __future__ import annotations

import re

from autoparser.analysis.reading.text import WHITESPACE, Lookahead, Reading, SpanKind, Tape

_OPENING = re.compile(r"\s*(`{3,}|~{3,})[ \t]*[\w.+-]{0,32}[ \t]*\r?\n\s*(?=[\[{])")
_BEGINNING = re.compile(
    r"\s*(?:`{0,2}|~{0,2}|(?:`{3,}|~{3,})[ \t]*[\w.+-]{0,32}[ \t]*(?:\r|\r?\n\s*)?)"
)


def open_fence(tape: Tape) -> Reading[str]:
    """Take what opens a fence around an object or an array; return its mark, empty without one."""
    while True:
        found = _OPENING.match(tape.text, tape.at)
        if found is not None:
            tape.take(found.end() - tape.at, SpanKind.JUNK)
            return found.group(1)
        if tape.closed or _BEGINNING.fullmatch(tape.text, tape.at) is None:
            return ""
        yield


def fence_mark(opening: str) -> str:
    """Return the mark of a fence's opening; empty where the text is only whitespace."""
    opening = opening.strip()
    return opening[: len(opening) - len(opening.lstrip("`"))]


def close_fence(tape: Tape, mark: str) -> Reading[bool]:
    """Take what closes a fence, with the whitespace before it and the rest of its line.

    False where it is not there. An empty mark is of no fence.
    """
    if not mark:
        return False
    ahead = Lookahead(tape, tape.position)
    yield from ahead.space()
    if not (yield from ahead.text(mark)):
        return False
    tape.take(ahead.at - tape.at, SpanKind.JUNK)
    while (yield from tape.wait(1)) and tape.text[tape.at] in WHITESPACE:
        if tape.take(1, SpanKind.JUNK) == "\n":
            break
    return True
