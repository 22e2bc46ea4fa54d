"""The expression of a turn as a JSON document."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Block, Literal

from .nodes import (
    ArgumentList,
    FreeText,
    JsonCall,
    Name,
    RowCall,
    RowItem,
    Section,
    Turn,
)

__all__ = ["expression_document"]


def expression_document(turn: Turn) -> dict[str, Json]:
    """Return an expression as values that JSON can hold.

    How arguments are written is not repeated: it is `format.calls.arguments` of the analysis.
    """
    return {
        "start": turn.start.value,
        "header": _literal(turn.header),
        "reasoning": None if turn.reasoning is None else _block(turn.reasoning),
        "content": _block(turn.content),
        "calls": None if turn.calls is None else _section(turn.calls),
        "ends": [_literal(end) for end in turn.ends],
        "lead": turn.lead,
        "tail": turn.tail,
        "goes_on": turn.goes_on,
    }


def _literal(literal: Literal) -> dict[str, Json]:
    return {"before": literal.before, "core": literal.core, "after": literal.after}


def _block(block: Block) -> dict[str, Json]:
    return {
        "open": _literal(block.open),
        "close": _literal(block.close),
        "others": [_literal(other) for other in block.others],
    }


def _section(section: Section) -> dict[str, Json]:
    call = section.call
    return {
        "open": _literal(section.open),
        "call": _row_call(call) if isinstance(call, RowCall) else _json_call(call),
        "separator": _literal(section.separator),
        "later_close": _literal(section.later_close),
        "close": _literal(section.close),
        "limit": section.limit.value,
        "space": section.space,
        "behind": section.behind,
        "leads": list(section.leads),
    }


def _row_call(call: RowCall) -> dict[str, Json]:
    empty = call.empty_row
    return {
        "type": "row",
        "row": [_item(item) for item in call.loose_row or call.row],
        "empty_row": None if empty is None else [_item(item) for item in empty],
    }


def _item(item: RowItem) -> dict[str, Json]:
    match item:
        case Literal():
            return {"literal": _literal(item)}
        case FreeText(default):
            return {"free": default}
        case Name():
            return {"slot": "name"}
        case ArgumentList():
            return {"slot": "arguments"}
        case _:
            return {"slot": item.slot.value}


def _json_call(call: JsonCall) -> dict[str, Json]:
    return {
        "type": "json",
        "before": _literal(call.before),
        "after": _literal(call.after),
        "name_is_key": call.name_is_key,
        "function_field": call.function_field,
        "name_field": call.name_field,
        "arguments_field": call.arguments_field,
        "id_field": call.id_field,
    }
