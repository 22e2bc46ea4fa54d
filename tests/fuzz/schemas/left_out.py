"""List valid values that no grammar of a format accepts, as docs/grammar.md documents.

The reasons come from the format and the schema, never from a grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_parts import ANY, SchemaPart
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.grammar.bare_values import is_bare


class LeftOut(StrEnum):
    """Why no grammar of a format takes a valid value as the template writes it."""

    CLOSED = "a text holds what closes it"
    OPENED = "a text without quotes begins as a list or an object"
    NAMED_TWICE = "a made-up name would stand twice"
    SORTED = "in sorted JSON a made-up name comes before a declared one"


def left_out(calls: CallFormat, arguments: dict[str, Json], schema: Json) -> LeftOut | None:
    """Return the first reason that applies, or None if a grammar has to accept the arguments."""
    values = calls.arguments.values
    for container, value in _texts(calls.arguments.members, values, arguments):
        if value and _closer(container, values) in values.string.write(value):
            return LeftOut.CLOSED
    members = calls.arguments.members
    part = SchemaPart.of(schema)
    for name, argument in arguments.items():
        if _begins_in_parts(argument, part.member(name), values):
            return LeftOut.OPENED
        bare = _is_bare_text(argument, part.member(name), values)
        if bare and _closer(members, values) in values.write(argument):
            return LeftOut.CLOSED
    if any(not value.keys() <= inner.names for value, inner in _objects(arguments, part)):
        if _stands_twice(members) or _stands_twice(values.object):
            return LeftOut.NAMED_TWICE
        if members.order is not MemberOrder.GIVEN and values.is_json:
            return LeftOut.SORTED
    return None


def _texts(
    container: ContainerNotation, notation: ValueNotation, value: Json
) -> Iterator[tuple[ContainerNotation, str]]:
    """Return the strings written without quotes, each with its parent."""
    bare = not notation.string.open
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        if isinstance(item, str) and bare:
            yield container, item
        elif isinstance(item, dict) and notation.object.values is None:
            yield from _texts(notation.object, notation, item)
        elif isinstance(item, list) and notation.array.values is None:
            yield from _texts(notation.array, notation, item)


def _begins_in_parts(value: Json, part: SchemaPart, notation: ValueNotation) -> bool:
    """Whether a text begins as what may stand in its place, which is written in parts."""
    if not isinstance(value, str) or not is_bare(notation.string):
        return False
    kinds = ANY if part.kinds is None else part.kinds
    each = ((JsonType.ARRAY, notation.array), (JsonType.OBJECT, notation.object))
    return any(
        kind in kinds
        and not (held.values or notation).is_json
        and held.open
        and value.startswith(held.open)
        for kind, held in each
    )


def _is_bare_text(value: Json, part: SchemaPart, notation: ValueNotation) -> bool:
    """Whether a list or an object stands as one text where any text may stand."""
    if notation.string.open or (part.kinds is not None and JsonType.STRING not in part.kinds):
        return False
    if isinstance(value, list):
        return notation.array.values is not None
    return isinstance(value, dict) and notation.object.values is not None


def _closer(container: ContainerNotation, notation: ValueNotation) -> str:
    """Return the text that ends a bare string."""
    row = container.row(JsonType.STRING) or container.entry
    tail = row[row.index(RowSlot.VALUE) + 1 :] if RowSlot.VALUE in row else ()
    after = "" if not tail or isinstance(tail[0], RowSlot) else tail[0]
    core = TemplateLiteral.of(notation.string.close + after).core
    return core or TemplateLiteral.of(container.separator).core or "\0"


def _objects(value: Json, part: SchemaPart) -> Iterator[tuple[dict[str, Json], SchemaPart]]:
    if isinstance(value, dict):
        yield value, part
        for name, inner in value.items():
            yield from _objects(inner, part.member(name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _objects(inner, part.item(at))


def _stands_twice(container: ContainerNotation) -> bool:
    rows = [container.entry, *filter(None, container.typed.values())]
    return any(row.count(RowSlot.KEY) > 1 for row in rows)
