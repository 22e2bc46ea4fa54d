"""The first look at a schema: whether it is well-formed and keeps to what can be written.

Every schema that is reachable from the root is looked at where it stands, before anything is
merged, so that an error names the very place. What is unknown to the standard says nothing there
and nothing here (``nullable``, ``x-…``, ``strict``); so do annotations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from math import isfinite

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    ROOT,
    Document,
    Schema,
    SchemaError,
    below,
    is_number,
    place_of,
)

from .unwritable import unwritable

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
"""The names of types."""

UNWRITABLE: Mapping[str, str] = {
    "not": "it says what a value is not",
    "if": "one part of a value would decide about another",
    "then": "one part of a value would decide about another",
    "else": "one part of a value would decide about another",
    "dependentRequired": "one member would decide about another",
    "dependentSchemas": "one member would decide about another",
    "dependencies": "one member would decide about another",
    "contains": "items would have to be counted by kind",
    "$dynamicRef": "what it refers to depends on the way there",
    "$recursiveRef": "what it refers to depends on the way there",
}
"""Why a keyword cannot be written."""

IN_PLACE = ("$ref", "allOf", "anyOf", "oneOf")
"""Keywords whose schemas speak of the same value."""

UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords for what other keywords leave over."""


def survey(document: Document) -> None:
    """Raise SchemaError for the first thing that is wrong with a schema or cannot be written."""
    for schema, pointer in reachable(document):
        for keyword in schema:
            if keyword in UNWRITABLE:
                raise unwritable(keyword, pointer, UNWRITABLE[keyword])
        for keyword in UNEVALUATED:
            if keyword in schema and any(other in schema for other in IN_PLACE):
                raise unwritable(keyword, pointer, "what it speaks of depends on other schemas")


def reachable(document: Document) -> Iterator[tuple[Schema, str]]:
    """Return every schema that is an object and that the root leads to, with its pointer.

    Where it says where it stood before it was moved, that is its pointer. Each of them is
    well-formed; raises SchemaError for the first one that is not.
    """
    try:
        json.dumps(document.root, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not a JSON value: {error}", pointer=ROOT) from None
    seen: set[str] = set()
    waiting: list[tuple[Json, str]] = [(document.root, ROOT)]
    while waiting:
        schema, pointer = waiting.pop()
        if pointer in seen:
            continue
        seen.add(pointer)
        if isinstance(schema, dict):
            place = place_of(schema, pointer)
            _check(schema, place)
            yield schema, place
            found = [*_inner(schema, pointer)]
            if "$ref" in schema:
                found.append(document.resolve(str(schema["$ref"]), pointer))
            # The first in the schema is the first to be looked at.
            waiting += reversed(found)
        elif not isinstance(schema, bool):
            raise SchemaError(
                f"a schema is an object, true or false, not {schema!r}", pointer=pointer
            )


def is_well_formed(schema: Schema) -> bool:
    """Whether the value of each keyword is of its kind, but for the schemas in it."""
    for keyword, value in schema.items():
        expected = _EXPECTED.get(keyword)
        if expected is not None and not expected[1](value):
            return False
    return True


def _check(schema: Schema, pointer: str) -> None:
    for keyword, expected in _malformed(schema):
        raise SchemaError(
            f"{keyword} must be {expected}, not {schema[keyword]!r}",
            pointer=pointer,
            keyword=keyword,
        )


def _malformed(schema: Schema) -> Iterator[tuple[str, str]]:
    """Return the keywords whose values are wrong, with what they must be."""
    for keyword, value in schema.items():
        expected = _EXPECTED.get(keyword)
        if expected is not None and not expected[1](value):
            yield keyword, expected[0]


def _inner(schema: Schema, pointer: str) -> list[tuple[Json, str]]:
    """Return the schemas right inside a schema, with their pointers."""
    found: list[tuple[Json, str]] = []
    for keyword in (keyword for keyword in _HOLDS_SCHEMAS if keyword in schema):
        value, place = schema[keyword], below(pointer, keyword)
        if keyword in _BY_NAME and isinstance(value, dict):
            found += [(inner, below(place, name)) for name, inner in value.items()]
        elif keyword in _IN_LISTS and isinstance(value, list):
            found += [(inner, below(place, at)) for at, inner in enumerate(value)]
        else:
            found.append((value, place))
    return found


_BY_NAME = ("properties", "patternProperties")
_IN_LISTS = ("prefixItems", "items", "allOf", "anyOf", "oneOf")
_HOLDS_SCHEMAS = (
    *_BY_NAME,
    *_IN_LISTS,
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "additionalItems",
    "unevaluatedItems",
)


def _is_count(value: Json) -> bool:
    return is_number(value) and value >= 0 and value == int(value)


def _is_bound(value: Json) -> bool:
    return is_number(value) and isfinite(value)


def _is_type(value: Json) -> bool:
    return value in TYPES if isinstance(value, str) else _is_texts(value) and _known(value)


def _known(value: Json) -> bool:
    return isinstance(value, list) and all(kind in TYPES for kind in value) and bool(value)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_filled_list(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def _is(kind: type) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, kind)


_COUNT = ("a count", _is_count)
_BOUND = ("a number", _is_bound)
_TEXT = ("a string", _is(str))
_MAP = ("an object", _is(dict))
_LIST = ("a list with something in it", _is_filled_list)
_EXPECTED: Mapping[str, tuple[str, Callable[[Json], bool]]] = {
    "type": (f"one of {', '.join(TYPES)}, or a list of them", _is_type),
    "enum": ("a list", _is(list)),
    "required": ("a list of strings", _is_texts),
    "properties": _MAP,
    "patternProperties": _MAP,
    "prefixItems": ("a list", _is(list)),
    "allOf": _LIST,
    "anyOf": _LIST,
    "oneOf": _LIST,
    "pattern": _TEXT,
    "format": _TEXT,
    "$ref": _TEXT,
    "$id": _TEXT,
    "uniqueItems": ("true or false", _is(bool)),
    "minimum": _BOUND,
    "maximum": _BOUND,
    "exclusiveMinimum": _BOUND,
    "exclusiveMaximum": _BOUND,
    "multipleOf": (
        "a number above 0",
        lambda value: _is_bound(value) and is_number(value) and value > 0,
    ),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _COUNT,
    ),
}
"""What a keyword's value must be, in words and as a test."""
