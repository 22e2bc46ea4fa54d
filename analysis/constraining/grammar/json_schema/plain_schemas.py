"""Schemas whose own words settle that a value meets them: most schemas are so.

    >>> sorted(plain_words({"type": "array", "items": {"maxLength": 5}, "minItems": 1}))
    ['items', 'maxLength', 'minItems', 'type']
    >>> plain_words({"type": "string", "pattern": "^a$", "minLength": 3}) is None
    True

The second is not: whether a text of that length matches the expression has to be tried. What is
plain is found in one walk, without a document around it.
"""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    Document,
    JsonType,
    Schema,
    is_number,
    names_of,
    schema_map,
    schemas_of,
    type_of,
)

from .schema_survey import TYPES, is_well_formed, reachable

_SILENT = frozenset(
    {"title", "description", "default", "examples", "deprecated", "$comment", "$defs"}
    | {"definitions", "x-place", "$schema", "readOnly", "writeOnly", "nullable", "example"}
)
_TYPE_ALONE = frozenset({"type", "title", "description", "default"})
"""Keywords of most schemas that hold none: what a type is called is all that may be wrong."""
_CHOICES = frozenset({"anyOf", "oneOf", "$ref"})
_TELLS_VALUES = (frozenset({"enum"}), frozenset({"const"}))
_STRINGS = frozenset({"pattern", "format", "minLength", "maxLength"})
_LENGTHS = frozenset({"minLength", "maxLength"})
_BOUNDS = frozenset({"minimum", "maximum", "minItems", "maxItems"})
_OF_MEMBERS = frozenset({"properties", "required", "additionalProperties"})
_GROUPS = _STRINGS | _BOUNDS | _OF_MEMBERS | {"type", "items"}
"""Keywords that contradict none that speaks of values of another type."""


def plain_words(schema: Json) -> frozenset[str] | None:
    """Return all keywords of a plain schema and of those in it; None where it is not plain.

    Nor is it where it refers to another place.
    """
    words: set[str] = set()
    waiting: list[Json] = [schema if isinstance(schema, dict) else None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, bool):
            continue
        if not isinstance(part, dict) or "$ref" in part:
            return None
        if part.keys() <= _TYPE_ALONE and part.get("type") in TYPES:
            words.update(part)
            continue
        if not is_well_formed(part) or not is_plain(part):
            return None
        words.update(part)
        waiting += _inner(part)
    return frozenset(words)


def _inner(schema: Schema) -> list[Json]:
    """Return the schemas right inside a plain one."""
    found = [*schema_map(schema, "properties").values()] if "properties" in schema else []
    found += [schema[keyword] for keyword in ("items", "additionalProperties") if keyword in schema]
    if "anyOf" in schema or "oneOf" in schema:
        found += schemas_of(schema, "anyOf") or schemas_of(schema, "oneOf")
    return found


def all_plain(document: Document) -> bool:
    """Whether nothing that is said in one place contradicts another."""
    return all(is_plain(schema) for schema, _ in reachable(document))


def is_plain(schema: Schema) -> bool:
    """Whether nothing that a well-formed schema says itself can contradict the rest of it."""
    said = frozenset(schema) - _SILENT
    if len(said) == 1 and said <= _CHOICES:
        (choice,) = said
        return choice == "$ref" or any(each is not False for each in schemas_of(schema, choice))
    if said - {"type"} in _TELLS_VALUES:
        return _values_are_typed(schema)
    if not said <= _GROUPS:
        return False
    texts = said & _STRINGS
    return (
        (len(texts) <= 1 or (texts == _LENGTHS and _is_open(schema, "minLength", "maxLength", 0)))
        and (said.isdisjoint(_BOUNDS) or _are_bounds_open(schema))
        and ("items" not in said or _has_items(schema))
        and (said.isdisjoint(_OF_MEMBERS) or _has_members(schema))
    )


def _values_are_typed(schema: Schema) -> bool:
    values = [schema["const"]] if "const" in schema else schemas_of(schema, "enum")
    if "type" not in schema or not values:
        return bool(values)
    named = schema["type"]
    kinds = named if isinstance(named, list) else [named]
    return all(
        (kind := type_of(value)) in kinds or (kind is JsonType.INTEGER and "number" in kinds)
        for value in values
    )


def _are_bounds_open(schema: Schema) -> bool:
    numbers = _is_open(schema, "minimum", "maximum", 1)
    return numbers and _is_open(schema, "minItems", "maxItems", 0)


def _has_items(schema: Schema) -> bool:
    """Whether every item that has to be there may be; they are all of one schema."""
    items = schema["items"]
    return not isinstance(items, list) and (items is not False or not schema.get("minItems"))


def _has_members(schema: Schema) -> bool:
    """Whether every member that has to be there may be."""
    named = schema_map(schema, "properties")
    if False in named.values():
        return False
    free = schema.get("additionalProperties") is not False
    return free or named.keys() >= set(names_of(schema, "required"))


def _is_open(schema: Schema, lower: str, upper: str, apart: int) -> bool:
    """Whether two bounds leave room; whole numbers need one between them."""
    least, most = schema.get(lower), schema.get(upper)
    return not (is_number(least) and is_number(most)) or most - least >= apart
