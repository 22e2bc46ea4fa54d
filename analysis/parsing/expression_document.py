"""The expression of a turn as a JSON document."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, convert

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, json_of
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .turn_request import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    RowCall,
    RowItem,
    TurnStart,
    TurnTree,
)


class BlockDocument(JsonDocument, frozen=True):
    """What opens and closes reasoning or content."""

    open: TemplateLiteral
    close: TemplateLiteral
    others: tuple[TemplateLiteral, ...]
    """Literals that open it beside other parts."""


class ItemDocument(JsonDocument, frozen=True):
    """A literal, a word that may be written otherwise, or a slot."""

    literal: TemplateLiteral | UnsetType = UNSET
    free: str | UnsetType = UNSET
    """A word that the template writes by default; another may stand in its place."""
    slot: RowSlot | UnsetType = UNSET


ItemsDocument = tuple[
    Annotated[ItemDocument, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})], ...
]


class RowCallDocument(JsonDocument, frozen=True, tag_field="type", tag="row"):
    """A call that is literals and slots in a row."""

    row: ItemsDocument
    empty_row: ItemsDocument | None


class JsonCallDocument(JsonDocument, frozen=True, tag_field="type", tag="json"):
    """A call that is one JSON object; its members come in any order."""

    before: TemplateLiteral
    after: TemplateLiteral
    name_is_key: bool
    function_field: str
    name_field: str
    arguments_field: str
    id_field: str


class SectionDocument(JsonDocument, frozen=True):
    """All calls of a turn."""

    open: TemplateLiteral
    call: RowCallDocument | JsonCallDocument
    separator: TemplateLiteral
    later_close: TemplateLiteral
    """What closes every call but the first, in templates that do so."""
    close: TemplateLiteral
    limit: CallLimit
    space: str
    """Whitespace that the template writes between content and calls."""
    after: str
    """Whitespace that it writes between calls and content after them."""
    leads: tuple[str, ...]
    """Markers that are markup where they stand right before a call."""


class ExpressionDocument(JsonDocument, frozen=True):
    """What a model may write in its turn."""

    start: TurnStart
    """Where in the turn the prompt has ended."""
    header: TemplateLiteral
    reasoning: BlockDocument | None
    content: BlockDocument
    calls: SectionDocument | None
    ends: tuple[TemplateLiteral, ...]
    lead: str
    """Whitespace that the template writes between the header and content."""
    tail: str
    """Whitespace that ends the turn, where nothing else does."""
    goes_on: bool
    """What ends a turn may also stand inside it, with another header after it."""


def expression_document(turn: TurnTree) -> dict[str, Json]:
    """Return an expression as values that JSON can hold.

    How arguments are written is not repeated: it is `format.calls.arguments` of the analysis.
    """
    document = ExpressionDocument(
        turn.start,
        turn.header,
        convert(turn.reasoning, BlockDocument | None, from_attributes=True),
        convert(turn.content, BlockDocument, from_attributes=True),
        None if turn.calls is None else _section(turn.calls),
        turn.ends,
        turn.lead,
        turn.tail,
        turn.goes_on,
    )
    return json_of(document)


def _section(section: CallSection) -> SectionDocument:
    call = section.call
    return SectionDocument(
        section.open,
        _row_call(call) if isinstance(call, RowCall) else _json_call(call),
        section.separator,
        section.later_close,
        section.close,
        section.limit,
        section.space,
        section.behind,
        section.leads,
    )


def _row_call(call: RowCall) -> RowCallDocument:
    empty = call.empty_row
    return RowCallDocument(
        tuple(map(_item, call.loose_row or call.row)),
        None if empty is None else tuple(map(_item, empty)),
    )


def _item(item: RowItem) -> ItemDocument:
    match item:
        case TemplateLiteral():
            return ItemDocument(literal=item)
        case FreeText(default):
            return ItemDocument(free=default)
        case FunctionName():
            return ItemDocument(slot=RowSlot.NAME)
        case ArgumentList():
            return ItemDocument(slot=RowSlot.ARGUMENTS)
        case _:
            return ItemDocument(slot=item.slot)


def _json_call(call: JsonCall) -> JsonCallDocument:
    return convert(call, JsonCallDocument, from_attributes=True)
