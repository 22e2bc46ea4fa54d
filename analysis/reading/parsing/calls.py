"""Reading one call: a row of literals and slots, or one JSON object."""

from __future__ import annotations

from autoparser.analysis.reading.expression import JsonCall, RowCall
from autoparser.analysis.reading.text import Reading, Tape

from .call_end import CallEnd, CallSurroundings
from .collector import Collector
from .json_reader import JsonReader
from .row_reader import RowReader


def read_call(
    tape: Tape, call: RowCall | JsonCall, around: CallSurroundings, collector: Collector
) -> Reading[CallEnd]:
    """Read one call from its opening literal to its close."""
    if isinstance(call, JsonCall):
        return (yield from JsonReader(tape, call, around, collector).read())
    return (yield from RowReader(tape, call, around, collector).read())


__all__ = ["CallEnd", "CallSurroundings", "read_call"]
