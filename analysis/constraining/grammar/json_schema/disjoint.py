"""Whether two flat schemas have no value in common, as far as can be told."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import Schema, is_number, names_of, schema_map, schemas_of

from .membership import Flat, holds
from .schema_survey import TYPES

DEEPEST = 8
"""How far into members it is looked; a recursive schema has no end."""


def disjoint(first: Schema, second: Schema, flat: Flat, depth: int = 0) -> bool:
    """Whether no value can meet both; False also where that cannot be told."""
    for one, other in ((first, second), (second, first)):
        if "enum" in one:
            values = [value for value in schemas_of(one, "enum") if holds(value, one, flat)]
            return not any(holds(value, other, flat) for value in values)
    common = _types(first) & _types(second)
    return all(_disjoint_as(kind, first, second, flat, depth) for kind in common)


def _types(schema: Schema) -> set[str]:
    kinds = set(map(str, schemas_of(schema, "type") or TYPES))
    return kinds | {"integer"} if "number" in kinds else kinds


def _disjoint_as(kind: str, first: Schema, second: Schema, flat: Flat, depth: int) -> bool:
    if kind in {"integer", "number"}:
        return _below(first, second) or _below(second, first)
    if kind == "object" and depth < DEEPEST:
        return any(
            _never_both(name, first, second, flat, depth)
            for name in {*names_of(first, "required"), *names_of(second, "required")}
        )
    return False


def _below(first: Schema, second: Schema) -> bool:
    """Whether all numbers of one lie below those of the other."""
    for high, high_open in (("maximum", False), ("exclusiveMaximum", True)):
        for low, low_open in (("minimum", False), ("exclusiveMinimum", True)):
            end, start = first.get(high), second.get(low)
            if not is_number(end) or not is_number(start):
                continue
            if end < start or (end == start and (high_open or low_open)):
                return True
    return False


def _never_both(name: str, first: Schema, second: Schema, flat: Flat, depth: int) -> bool:
    """Whether no value of a member that is required by one is good for both."""
    inner = [_member(name, side) for side in (first, second)]
    return all(
        disjoint(one, other, flat, depth + 1) for one in flat(inner[0]) for other in flat(inner[1])
    )


def _member(name: str, schema: Schema) -> Json:
    if "patternProperties" in schema:
        return True  # It might match the name, or not.
    return schema_map(schema, "properties").get(name, schema.get("additionalProperties", True))
