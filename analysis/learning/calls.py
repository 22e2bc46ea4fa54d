"""The calls of a turn, put together: the frame, the arguments in it, the row of one call."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.alignment import find_slots
from autoparser.analysis.conversation import Json
from autoparser.analysis.format import Arguments, CallFormat, Limit, Row, Slot

from .frame import Frame
from .indices import INDEX_MARK
from .observer import Observer


def learn_calls(
    observer: Observer, frame: Frame, arguments: Arguments, section_open: str, section_close: str
) -> CallFormat | None:
    """Put the row of one call together; None where the arguments are not in it in one piece."""
    marks = observer.prober.sentinels
    written = arguments.write({marks.keys[0]: marks.values[0]})
    call = frame.call
    around = f"{section_open}{call}{section_close}"
    if call.count(written) != 1 or frame.limit is not Limit.MANY:
        if around.count(written) != 1:
            return None
        # What surrounds an only call is its own; or the arguments share their last
        # characters with what closes the section.
        call, section_open, section_close = around, "", ""
    row = row_of(call.replace(written, _ARGUMENTS), observer)
    return CallFormat(
        row=row,
        arguments=arguments,
        section_open=section_open,
        section_close=section_close,
        separator=frame.repetition.separator,
        later_close=frame.later_close,
        index_base=frame.index_base,
        limit=frame.limit,
    )


_ARGUMENTS = "\ue001"
"""Stands for the arguments while a row is put together."""


def row_of(call: str, observer: Observer) -> Row:
    """Turn the text of a call made of sentinels into a row."""
    marks = observer.prober.sentinels
    labels: Mapping[str, Slot] = {
        marks.names[0]: Slot.NAME,
        marks.ids[0]: Slot.ID,
        INDEX_MARK: Slot.INDEX,
        _ARGUMENTS: Slot.ARGUMENTS,
    }
    pieces = find_slots(call, labels)
    row: list[str | Slot] = []
    for literal, slot in zip(pieces.literals, pieces.slots, strict=False):
        if literal:
            row.append(literal)
        row.append(slot)
    if pieces.literals[-1]:
        row.append(pieces.literals[-1])
    return tuple(row)


def learn_empty_row(observer: Observer, calls: CallFormat, before: str, after: str) -> Row | None:
    """Learn how a call without arguments is written, where it is not the row with none in it."""
    none: dict[str, Json] = {}
    turn = observer.with_arguments(none)
    if turn.refusal:
        return None
    head, tail = before + calls.section_open, calls.section_close + after
    if not turn.text.startswith(head) or not turn.text.endswith(tail):
        return None
    text = turn.text[len(head) : len(turn.text) - len(tail)]
    if text == calls.write_call(observer.call(0, none), 0):
        return None
    return row_of(_marked(text, calls), observer)


def _marked(text: str, calls: CallFormat) -> str:
    """Put the mark where the literals around it show the number of the call."""
    row = calls.row
    for at, piece in enumerate(row):
        if piece is not Slot.INDEX:
            continue
        before = row[at - 1] if at and not isinstance(row[at - 1], Slot) else ""
        shown = f"{before}{calls.index_base}"
        if before and text.count(shown) == 1:
            text = text.replace(shown, f"{before}{INDEX_MARK}")
    return text
