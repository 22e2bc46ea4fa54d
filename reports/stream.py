"""A stream: each chunk of the text on a line, and the deltas that it gives."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage

from .blocks import joined, sentence
from .message import status_text
from .visible import literal, quoted, visible

__all__ = ["chunk_report", "end_report"]

END = "(end)"
_ARROW = " → "


def chunk_report(chunk: str, deltas: Sequence[Delta], size: int) -> Text:
    """Show one chunk of at most ``size`` characters and its deltas on one line."""
    return _line(literal(chunk), deltas, size)


def end_report(deltas: Sequence[Delta], message: ParsedMessage, size: int) -> Text:
    """Show what the end of the text gives, and on a line of its own how the message came out."""
    last = _line(Text(END, style="dim"), deltas, size)
    return sentence(last, "\n\n", "Status  ", status_text(message))


def _line(chunk: Text, deltas: Sequence[Delta], size: int) -> Text:
    column = max(size, len(END))
    space = " " * max(column - cell_len(chunk.plain), 0)
    given = joined([_delta(delta) for delta in deltas], ", ") if deltas else Text("-", style="dim")
    return sentence(chunk, space, (_ARROW, "dim"), given)


def _delta(delta: Delta) -> Text:
    match delta.kind:
        case DeltaKind.REASONING | DeltaKind.CONTENT:
            return sentence(f"{delta.kind.value} ", quoted(delta.text))
        case DeltaKind.CALL:
            words = sentence(f"call {delta.index + 1} ", (visible(delta.text), "bold"))
            return sentence(words, " id ", quoted(delta.id)) if delta.id else words
        case DeltaKind.FINISH:
            return Text(f"finish {delta.text}")
        case DeltaKind.ARGUMENTS:
            return sentence(f"arguments {delta.index + 1} ", quoted(delta.text))
