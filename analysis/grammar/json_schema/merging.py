"""Two flat schemas that both hold, as one."""

from __future__ import annotations

from math import lcm

from autoparser.analysis.conversation import Json

from .document import Schema, is_number, schema_map, schemas_of
from .errors import unwritable
from .flat import identity


def merged(first: Schema, second: Schema, pointer: str) -> Schema | None:
    """Give a flat schema for the values of both; None where they contradict each other.

    Members and items that both speak of get an ``allOf``, to be resolved when they are written.
    Raises SchemaError, with the pointer given, for keywords that cannot be joined exactly.
    """
    found: Schema = {**second, **first}
    for keyword in [keyword for keyword in first if keyword in second]:
        if keyword in _OF_MEMBERS or keyword in _OF_ITEMS:
            continue
        joined = _joined(keyword, first[keyword], second[keyword], pointer)
        if joined in ([], None) and keyword in {"type", "enum"}:
            return None
        found[keyword] = joined
    if "pattern" in found:
        found.pop("format", None)
    _join_members(found, first, second, pointer)
    _join_items(found, first, second)
    return found


def both(*schemas: Json) -> Json:
    """Give a schema for the values of all of several, as short as it goes."""
    parts: dict[str, Json] = {}
    for schema in schemas:
        inner = _conjuncts(schema)
        parts |= {identity(part): part for part in inner}
    if not parts:
        return True
    values = list(parts.values())
    if any(part is False for part in values):
        return False
    return values[0] if len(values) == 1 else {"allOf": values}


def _conjuncts(schema: Json) -> list[Json]:
    if schema is True or schema == {}:
        return []
    if isinstance(schema, dict) and schema.keys() == {"allOf"}:
        return [part for inner in schemas_of(schema, "allOf") for part in _conjuncts(inner)]
    return [schema]


_OF_MEMBERS = ("properties", "additionalProperties", "patternProperties")
_OF_ITEMS = ("prefixItems", "items")
_HIGHER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def _joined(keyword: str, first: Json, second: Json, pointer: str) -> Json:
    if identity(first) == identity(second):
        return first
    if keyword == "propertyNames":
        return both(first, second)
    if isinstance(first, list) and isinstance(second, list):
        return _joined_lists(keyword, first, second)
    if keyword == "uniqueItems":
        return True
    if is_number(first) and is_number(second):
        if keyword in _HIGHER:
            return max(first, second)
        if keyword in _LOWER:
            return min(first, second)
        if isinstance(first, int) and isinstance(second, int):
            return lcm(first, second)
    raise unwritable(keyword, pointer, f"{first!r} and {second!r} would have to hold both")


def _joined_lists(keyword: str, first: list[Json], second: list[Json]) -> Json:
    if keyword == "required":
        return list({identity(name): name for name in [*first, *second]}.values())
    if keyword == "type":
        return [*_joined_types(first, second)]
    known = {identity(value) for value in second}
    return [value for value in first if identity(value) in known]


def _joined_types(first: list[Json], second: list[Json]) -> list[Json]:
    found = [kind for kind in first if kind in second]
    if "number" not in found:
        whole = [kind for kind in (first, second) if "integer" in kind]
        other = second if whole and whole[0] is first else first
        if whole and "number" in other and "integer" not in found:
            found.append("integer")
    return found


def _join_members(found: Schema, first: Schema, second: Schema, pointer: str) -> None:
    sides = [{key: side[key] for key in _OF_MEMBERS if key in side} for side in (first, second)]
    if not all(sides) or sides[0] == sides[1]:
        return
    if any("patternProperties" in side for side in sides):
        raise unwritable("patternProperties", pointer, "other schemas speak of the same members")
    properties: Schema = {}
    for name in [*schema_map(first, "properties"), *schema_map(second, "properties")]:
        properties[name] = both(
            *(
                schema_map(side, "properties").get(name, side.get("additionalProperties", True))
                for side in sides
            )
        )
    found["properties"] = properties
    found["additionalProperties"] = both(
        *(side.get("additionalProperties", True) for side in sides)
    )


def _join_items(found: Schema, first: Schema, second: Schema) -> None:
    if not any(key in first for key in _OF_ITEMS) or not any(key in second for key in _OF_ITEMS):
        return
    prefixes = [schemas_of(side, "prefixItems") for side in (first, second)]
    others = [side.get("items", True) for side in (first, second)]
    found["prefixItems"] = [
        both(
            *(
                prefix[at] if at < len(prefix) else other
                for prefix, other in zip(prefixes, others, strict=True)
            )
        )
        for at in range(max(map(len, prefixes)))
    ]
    found["items"] = both(*others)
