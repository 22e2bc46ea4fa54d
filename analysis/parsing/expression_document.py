"""The expression of a turn as a JSON document."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, convert

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, document_json
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .turn_nodes import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    JsonCallFields,
    RowCall,
    RowItem,
    TurnStart,
    TurnTree,
)


class BlockDocument(JsonDocument, frozen=True):
    """The markers around reasoning or content."""

    open: TemplateLiteral
    """The opening marker, such as `<think>`."""
    close: TemplateLiteral
    """The closing marker, such as `</think>`."""
    others: tuple[TemplateLiteral, ...]
    """Literals that open it beside other parts, such as `<|channel|>final<|message|>`."""


class ItemDocument(JsonDocument, frozen=True):
    """A literal, a word that may be written otherwise, or a slot."""

    literal: TemplateLiteral | UnsetType = UNSET
    """Text of the template, such as `<function=`."""
    free: str | UnsetType = UNSET
    """A word that the template writes by default, such as `json`; another may stand in its place.
    """
    slot: RowSlot | UnsetType = UNSET
    """A variable text, such as `"name"`."""


ItemsDocument = tuple[
    Annotated[ItemDocument, Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})], ...
]


class RowCallDocument(JsonDocument, frozen=True, tag_field="type", tag="row"):
    """A call that is literals and slots in a row."""

    row: ItemsDocument
    """One call: literals and slots, such as `<function=`, the name, `>`, the arguments."""
    empty_row: ItemsDocument | None
    """A call without arguments, such as `<call name="`, the name, `"/>`; null if it is the row with
    empty arguments."""


class JsonCallDocument(JsonCallFields, frozen=True, tag_field="type", tag="json"):
    """A call that is one JSON object; its members come in any order."""


class SectionDocument(JsonDocument, frozen=True):
    """All calls of a turn."""

    open: TemplateLiteral
    """Before the first call, such as `<tool_calls>`."""
    call: RowCallDocument | JsonCallDocument
    """One call, as a row, such as `<function=`, the name and the arguments, or as a JSON object."""
    separator: TemplateLiteral
    """Between two calls, such as a comma and a blank, `", "`."""
    later_close: TemplateLiteral
    """The text after every call but the first, such as `!` in `(call f {}),(call g {})!`, in
    templates that close only those."""
    close: TemplateLiteral
    """After the last call, such as `</tool_calls>`."""
    limit: CallLimit
    """Whether a message may have several calls, such as `"many calls"`."""
    space: str
    r"""Whitespace that the template writes between content and calls, such as `"\n\n"`."""
    after: str
    r"""Whitespace that it writes between calls and content after them, such as `"\n"`."""
    leads: tuple[str, ...]
    """Markers that are markup where they stand right before a call, such as `<|run|>`."""


class ExpressionDocument(JsonDocument, frozen=True):
    """The expression of a turn: the text that a model may write."""

    start: TurnStart
    """Where in the turn the prompt has ended, such as `"after the header"`."""
    header: TemplateLiteral
    """The text before every turn, such as `<|im_start|>assistant`."""
    reasoning: BlockDocument | None
    """The markers around reasoning, such as `<think>` and `</think>`; null if the format has
    none."""
    content: BlockDocument
    """The markers around content, such as `<|content|>`, which may be empty."""
    calls: SectionDocument | None
    """The section of calls, such as rows between `<tool_calls>` and `</tool_calls>`; null if calls
    are not expected."""
    ends: tuple[TemplateLiteral, ...]
    """The ends of turns, such as `<|im_end|>`."""
    lead: str
    r"""Whitespace that the template writes between the header and content, such as `"\n"`."""
    tail: str
    r"""Whitespace that ends the turn, where nothing else does, such as `"\n\n"`."""
    goes_on: bool
    """Whether the end of a turn, such as `<|im_end|>`, also occurs inside turns, with another
    header after it."""


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
    return document_json(document)


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
        # The row that a reader takes, with the words that a model may change.
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
            # A `SingleWord`, e.g. an id.
            return ItemDocument(slot=item.slot)


def _json_call(call: JsonCall) -> JsonCallDocument:
    return convert(call, JsonCallDocument, from_attributes=True)
