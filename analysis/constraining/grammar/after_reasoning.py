r"""What a grammar holds a model to once its reasoning is closed, where the reasoning is free.

Of the rows of a turn that begin in reasoning, what stands after its closer is left:

    REASONING «\n</think>\n\n» CONTENT    is    «\n\n» CONTENT
"""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.format import Part
from autoparser.analysis.reading.expression import Body, Start, Strict, StrictRow, Turn

from .call_writer import GrammarError


def after_reasoning(turn: Turn) -> tuple[Turn, str]:
    """Return what may be written after the reasoning's closer, and the closer.

    Raises GrammarError for a turn that the prompt has not left in its reasoning.
    """
    reasoning = turn.reasoning
    if reasoning is None or not (turn.start is Start.REASONING or reasoning.leads):
        raise GrammarError(
            "the model is not in its reasoning there",
            place="the end of the prompt",
            hint="give a prompt that opens reasoning, or set the switch that does",
        )
    close = reasoning.close.core
    rows = [_after(row, close) for row in turn.strict.rows] if close else []
    rest = tuple(dict.fromkeys(row for row in rows if row is not None))
    if not rest:
        raise GrammarError(
            "no text closes the reasoning",
            place="the end of the prompt",
            hint="hold it to the grammar from its first token",
        )
    return replace(turn, strict=Strict(rest, turn.strict.calls)), close


def _after(row: StrictRow, close: str) -> StrictRow | None:
    """Return what a row has after the reasoning's closer; None where it does not begin with it."""
    for at, item in enumerate(row.items):
        if isinstance(item, str) and close in item:
            rest = item.partition(close)[2]
            return StrictRow(tuple(filter(None, (rest, *row.items[at + 1 :]))), row.end)
        if isinstance(item, Body) and item.part is not Part.REASONING:
            return None
    return None
