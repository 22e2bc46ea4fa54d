"""Reading one call: a row of literals and slots, or one JSON object."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from autoparser.analysis.core.format import Arguments, Literal, json_notation
from autoparser.analysis.reading.expression import ArgumentList, JsonCall, Name, RowCall
from autoparser.analysis.reading.text import Lookahead, Reading, Tape

from .call_end import CallEnd, CallSurroundings
from .call_openings import call_open
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


def message_call(call: RowCall) -> JsonCall | None:
    """Return the call that stands as messages hold one, an object, where a row is written."""
    lists = [item for item in call.row if isinstance(item, ArgumentList)]
    names = [item for item in call.row if isinstance(item, Name)]
    if not lists or not names:
        return None
    notation = json_notation()
    last = call.row[-1]
    return JsonCall(
        before=call_open(call),
        name=names[0],
        arguments=ArgumentList(
            Arguments(notation.object, notation, verbatim=True), lists[0].schemas
        ),
        after=Literal.of(last.markers[-1])
        if isinstance(last, Literal) and last.is_marked
        else Literal(),
        name_field="name",
        arguments_field="arguments",
        id_field="id",
    )


def at_message_call(
    ahead: Lookahead, opens: Sequence[str], names: Collection[str]
) -> Reading[bool]:
    """Whether markers, of which some may be missing, lead to a call as messages hold it."""
    for unit in opens:
        yield from ahead.row((unit,))
    yield from ahead.row(("[",))
    if not (yield from ahead.row(("{", '"name"', ":"))):
        return False
    yield from ahead.space()
    return (yield from ahead.among(f'"{name}"' for name in names)) is not None


__all__ = ["CallEnd", "CallSurroundings", "at_message_call", "message_call", "read_call"]
