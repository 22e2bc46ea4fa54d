"""How values are written, as it is told: rows, containers, notations."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from autoparser.analysis.core.format import Container, JsonType, Notation, Order, Row, Slot, Text
from autoparser.analysis.core.json_document import JsonDocument

ONE = Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
"""Of a document's object that has one of its keys."""


class PieceDocument(JsonDocument, frozen=True):
    """A literal or a slot."""

    literal: str | UnsetType = UNSET
    slot: Slot | UnsetType = UNSET


RowDocument = Annotated[
    tuple[Annotated[PieceDocument, ONE], ...],
    Meta(description="Literals and slots, in the order they are written."),
]


class ContainerDocument(JsonDocument, frozen=True):
    """How an array or an object is written."""

    open: str
    close: str
    separator: str
    empty: str
    """Written in its place where it has no entries."""
    entry: RowDocument
    """One item or member."""
    typed: dict[JsonType, RowDocument | None]
    """Entries written otherwise because of their value's type; null: not written."""
    key: Text
    order: Order
    indent: str
    """What one level adds to the beginning of a line; empty: all on one line."""
    values: NotationDocument | None
    """How the values inside are written; null: like the value that holds them."""


class NotationDocument(JsonDocument, frozen=True):
    """How a value of each JSON type is written."""

    string: Text
    true: str
    false: str
    null: str
    array: ContainerDocument
    object: ContainerDocument
    number: Text
    """What stands around a number."""


def row_document(row: Row) -> tuple[PieceDocument, ...]:
    """Return a row as literals and slots."""
    return tuple(
        PieceDocument(slot=piece) if isinstance(piece, Slot) else PieceDocument(literal=piece)
        for piece in row
    )


def container_document(container: Container) -> ContainerDocument:
    """Say how an array or an object is written."""
    return ContainerDocument(
        container.open,
        container.close,
        container.separator,
        container.empty,
        row_document(container.entry),
        {kind: None if row is None else row_document(row) for kind, row in container.typed.items()},
        container.key,
        container.order,
        container.indent,
        None if container.values is None else notation_document(container.values),
    )


def notation_document(notation: Notation) -> NotationDocument:
    """Say how a value of each type is written."""
    return NotationDocument(
        notation.string,
        notation.true,
        notation.false,
        notation.null,
        container_document(notation.array),
        container_document(notation.object),
        notation.number,
    )
