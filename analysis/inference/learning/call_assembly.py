"""The calls of a turn, put together: the frame, the arguments in it, the row of one call."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.format import Arguments, CallFormat, CallLimit, Row, Slot

from .calls_frame import CallsFrame
from .indices import INDEX_MARK
from .slots import SeenSlot


def put_together(
    frame: CallsFrame,
    slots: Sequence[SeenSlot],
    arguments: Arguments,
    written: str,
    section: tuple[str, str],
) -> CallFormat | None:
    """Put the row of one call together; None where the arguments are not in it in one piece.

    `written` are the arguments of the frame's call.
    """
    opening, close = section
    call = frame.call
    around = f"{opening}{call}{close}"
    if call.count(written) != 1 or frame.limit is not CallLimit.MANY:
        if around.count(written) != 1:
            return None
        # What surrounds an only call is its own; or the arguments share their last
        # characters with what closes the section.
        call, opening, close = around, "", ""
    return CallFormat(
        row=row_of(call, [*slots, SeenSlot(Slot.ARGUMENTS, written)]),
        arguments=arguments,
        section_open=opening,
        section_close=close,
        separator=frame.repetition.separator,
        later_close=frame.later_close,
        index_base=frame.index_base,
        index_goes_on=frame.goes_on,
        limit=frame.limit,
    )


def row_of(call: str, slots: Sequence[SeenSlot]) -> Row:
    """Turn the text of a call made of sentinels into a row."""
    row: Row = (call,)
    for each in (*slots, SeenSlot(Slot.INDEX, INDEX_MARK)):
        row = each.cut(row)
    return row


def row_without_arguments(text: str, calls: CallFormat, slots: Sequence[SeenSlot]) -> Row:
    """Turn the text of a first call without arguments into a row.

    The number of the call shows where the literal stands that comes before it.
    """
    row = calls.row
    for at, piece in enumerate(row):
        if piece is not Slot.INDEX:
            continue
        before = row[at - 1] if at and not isinstance(row[at - 1], Slot) else ""
        shown = f"{before}{calls.index_base}"
        if before and text.count(shown) == 1:
            text = text.replace(shown, f"{before}{INDEX_MARK}")
    return row_of(text, slots)
