"""Reading what stands after a call's name, in whatever words a model puts between its markers."""

from __future__ import annotations

from autoparser.analysis.core.format import Literal
from autoparser.analysis.reading.text import (
    Reading,
    SpanKind,
    Stops,
    Tape,
    read_literal,
    skip_written,
)

from .again import skip_again
from .channel_frame import LONGEST_HEADER


def read_worded(tape: Tape, literal: Literal, stops: tuple[str, ...]) -> Reading[bool]:
    """Take a literal whose words may be others, more or none: its last marker alone has to come.

    Where the template writes `<|kind|>code json<|text|>`, a model may write `<|kind|>json<|text|>`.
    False where a stop comes before it, or too much text: then nothing was taken. A literal that
    does not end with the second of two markers is read as it is.
    """
    markers = literal.markers
    last = markers[-1] if len(markers) > 1 else ""
    if not last or not literal.core.endswith(last):
        return (yield from read_literal(tape, literal))
    others = [("", text, False) for text in stops if text not in literal.core]
    ends: Stops[bool] = Stops([("", last, True), *others])
    while True:
        text = tape.text[tape.at :]
        found = ends.find(text, 0)
        if found is not None and found.end <= LONGEST_HEADER:
            if tape.closed or not ends.unsure(text, found, 0):
                break
        elif len(text) > LONGEST_HEADER:
            return False
        elif tape.closed:
            tape.fell_short()
            return False
        yield
    if not found.label:
        return False
    tape.take(found.end, SpanKind.MARKUP)
    yield from skip_again(tape, literal)
    yield from skip_written(tape, literal.after)
    return True
