"""Which end of the turn an output lacks that has none."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.format import Part
from autoparser.analysis.reading.expression import Body, Turn
from autoparser.analysis.reading.text import Span, SpanKind

_PARTS = {
    SpanKind.REASONING: Part.REASONING,
    SpanKind.CONTENT: Part.CONTENT,
    SpanKind.NAME: Part.CALLS,
    SpanKind.ID: Part.CALLS,
    SpanKind.ARGUMENTS: Part.CALLS,
}


def missing_end(turn: Turn, spans: Sequence[Span]) -> str:
    """Return the end that the template writes after what was read last; empty where it writes none.

    Templates may end a turn after content and leave it open after calls.
    """
    last = next((_PARTS[span.kind] for span in reversed(spans) if span.kind in _PARTS), None)
    ends = [row.end.core for row in turn.strict.rows if _last_part(row.items) is last]
    if not ends:
        return turn.ends[0].core if turn.ends else ""
    return ends[0] if all(ends) else ""


def _last_part(items: Sequence[object]) -> Part | None:
    return next((item.part for item in reversed(items) if isinstance(item, Body)), None)
