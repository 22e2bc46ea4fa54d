"""Openings that a model writes twice."""

from __future__ import annotations

from autoparser.analysis.core.format import Literal
from autoparser.analysis.reading.text import Reading, SpanKind, Tape, at_text


def skip_again(tape: Tape, literal: Literal) -> Reading[str]:
    """Take the last marker of what has just opened, as often as it is there again; return all.

    `<|role|>assistant<|text|>` may be followed by a second `<|text|>`.
    """
    last = literal.markers[-1] if literal.markers else ""
    taken = ""
    while last and literal.core.endswith(last) and (yield from at_text(tape, last)):
        taken += tape.take(len(last), SpanKind.MARKUP)
    return taken
