"""Reading what the template writes, forgiving the whitespace around it."""

from __future__ import annotations

from autoparser.analysis.core.format import Literal

from .lookahead import Lookahead
from .tape import Reading, SpanKind, Tape


def skip_space(tape: Tape, kind: SpanKind = SpanKind.MARKUP) -> Reading[None]:
    """Take all whitespace from the front."""
    while True:
        text, at = tape.text, tape.at
        end = at
        while end < len(text) and text[end].isspace():
            end += 1
        tape.take(end - at, kind)
        if end < len(text) or tape.closed:
            return
        yield


def skip_written(tape: Tape, space: str) -> Reading[str]:
    """Take the whitespace that the template writes here, as far as it is there; return it."""
    for at, char in enumerate(space):
        if not (yield from tape.wait(1)) or tape.text[tape.at] != char:
            return space[:at]
        tape.take(1, SpanKind.MARKUP)
    return space


def at_text(tape: Tape, wanted: str) -> Reading[bool]:
    """Look whether the text at the front is `wanted`; nothing is taken."""
    while True:
        text, at = tape.text, tape.at
        there = len(text) - at
        if there >= len(wanted):
            return text.startswith(wanted, at)
        if not wanted.startswith(text[at:]):
            return False
        if tape.closed:
            tape.fell_short()
            return False
        yield


def behind_space(tape: Tape, wanted: str) -> Reading[bool]:
    """Look whether `wanted` comes next, whitespace aside; nothing is taken."""
    ahead = Lookahead(tape, tape.position)
    yield from ahead.space()
    there = yield from ahead.text(wanted)
    if ahead.short:
        tape.fell_short()
    return there


def behind_space_any(tape: Tape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Say which of the texts comes next, whitespace aside, the longest first; nothing is taken."""
    if not wanted:
        return None
    ahead = Lookahead(tape, tape.position)
    yield from ahead.space()
    return (yield from ahead.among(wanted))


def at_any(tape: Tape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Say which of the texts is at the front, the longest first; nothing is taken."""
    for text in sorted(wanted, key=len, reverse=True):
        if text and (yield from at_text(tape, text)):
            return text
    return None


def read_literal(tape: Tape, literal: Literal) -> Reading[bool]:
    """Take a literal, whitespace between its units and at its edges forgiven.

    False where a unit of it is not there; what came before that was taken.
    """
    if not literal.core:
        yield from skip_written(tape, literal.before)
        return True
    for unit in literal.units:
        yield from skip_space(tape)
        if not (yield from at_text(tape, unit)):
            return False
        tape.take(len(unit), SpanKind.MARKUP)
    yield from skip_written(tape, literal.after)
    return True
