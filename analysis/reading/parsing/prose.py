"""Reading free text up to what ends it: content or reasoning, passed on as it comes."""

from __future__ import annotations

from autoparser.analysis.reading.text import (
    Emit,
    Found,
    Lane,
    Reading,
    SpanKind,
    Stops,
    Tape,
)

from .stop_marks import StopMark


def read_prose(
    tape: Tape, stops: Stops[StopMark], kind: SpanKind, emit: Emit, tail: str = ""
) -> Reading[Found[StopMark] | None]:
    """Take free text up to a stop and the whitespace that the template writes before it.

    The stop is left, and given; its place holds until more text is fed. None where the text ended
    before a stop came; then the whitespace of `tail` is left, as far as it is there, or what a cut
    has left of a stop.
    """
    lane = Lane(stops.search, kind, emit, stops.passed, ends=stops.ends)
    while True:
        found = stops.find(tape.text, tape.at)
        if found is not None and _may_be_other(tape, stops, found):
            found = None
        if found is not None and (tape.closed or not stops.unsure(tape.text, found, tape.at)):
            emit(tape.take(stops.written_before(tape.text, found, tape.at) - tape.at, kind))
            return found
        end = _end(tape, stops, tail) if tape.closed else stops.safe(tape.text, tape.at)
        if found is not None:
            end = min(end, found.start)
        if end > tape.at:
            emit(tape.take(end - tape.at, kind))
        if tape.closed and found is None:
            return None
        if found is None:
            tape.pass_by(lane)
        yield


def _may_be_other(tape: Tape, stops: Stops[StopMark], found: Found[StopMark]) -> bool:
    """Whether a cut has left of another stop what looks like the opening of calls."""
    if not tape.closed or tape.complete or found.label is not StopMark.CALLS:
        return False
    begun = stops.begun(tape.text, tape.at)
    if begun is None:
        return False
    return begun.start <= found.start and begun.label is not StopMark.CALLS


def _end(tape: Tape, stops: Stops[StopMark], tail: str) -> int:
    """Say where the text ends that the end of all text closes."""
    text, end = tape.text, len(tape.text)
    if not tape.complete:
        begun = stops.begun(text, tape.at)
        return end if begun is None else begun.start
    for char in reversed(tail):
        if end <= tape.at or text[end - 1] != char:
            break
        end -= 1
    return end
