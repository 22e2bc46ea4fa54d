"""The markers of a format: what a tokenizer may hold as special tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autoparser.analysis.core.alignment import edge_units, is_unit
from autoparser.analysis.core.format import CallFormat
from autoparser.analysis.reading.expression import Turn


def markers_of(turn: Turn) -> tuple[str, ...]:
    """Return every marker that the template writes in such a turn, its ends included."""
    texts = [text for row in turn.strict.rows for text in (*row.items, row.end.core)]
    if turn.strict.calls is not None:
        texts += call_texts(turn.strict.calls)
    return units_in(text for text in texts if isinstance(text, str))


def call_texts(calls: CallFormat) -> list[str]:
    """Return the texts that the template writes around calls, and in them around their slots."""
    rows = [*calls.row, *(calls.empty_row or ())]
    # A slot is a text by its type alone.
    texts = [piece for piece in rows if type(piece) is str]
    members = calls.arguments.members
    texts += [piece for piece in members.entry if type(piece) is str]
    return [*texts, calls.section_open, calls.section_close, calls.separator, calls.later_close]


def units_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the markers in texts, each once."""
    return tuple(dict.fromkeys(_units(texts)))


def _units(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (unit for unit in edge_units(text) if is_unit(unit))


def without(text: str, markers: Iterable[str]) -> str:
    """Return a text as it is when these markers are stripped."""
    for marker in sorted(markers, key=len, reverse=True):
        text = text.replace(marker, "")
    return text
