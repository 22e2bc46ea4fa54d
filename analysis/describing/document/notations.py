"""How values are written, as JSON: rows, texts, containers, notations."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Container, Edges, Notation, Row, Slot, Text


def row_document(row: Row) -> list[Json]:
    """Return a row as a list of literals and slots."""
    return [
        {"slot": piece.value} if isinstance(piece, Slot) else {"literal": piece} for piece in row
    ]


def edges_document(edges: Edges) -> dict[str, Json]:
    """Say what the edges of a text lose."""
    return {"left": edges.left.value, "right": edges.right.value}


def text_document(text: Text) -> dict[str, Json]:
    """Say how a string or a key is written."""
    guard = text.guard
    return {
        "open": text.open,
        "close": text.close,
        "escape": text.escape.value,
        "edges": edges_document(text.edges),
        "table": dict(text.table),
        "guard": None
        if guard is None
        else {"characters": guard.characters, "open": guard.open, "close": guard.close},
    }


def container_document(container: Container) -> dict[str, Json]:
    """Say how an array or an object is written."""
    values = container.values
    return {
        "open": container.open,
        "close": container.close,
        "separator": container.separator,
        "empty": container.empty,
        "entry": row_document(container.entry),
        "typed": {
            kind.value: None if row is None else row_document(row)
            for kind, row in container.typed.items()
        },
        "key": text_document(container.key),
        "order": container.order.value,
        "indent": container.indent,
        "values": None if values is None else notation_document(values),
    }


def notation_document(notation: Notation) -> dict[str, Json]:
    """Say how a value of each type is written."""
    return {
        "string": text_document(notation.string),
        "true": notation.true,
        "false": notation.false,
        "null": notation.null,
        "array": container_document(notation.array),
        "object": container_document(notation.object),
        "number": text_document(notation.number),
    }
