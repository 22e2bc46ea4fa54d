"""Check that a schema is well-formed and keeps to what can be written.

Every schema that is reachable from the root is checked where it stands, before anything is
merged, so that an error names the exact place. Keywords unknown to the standard mean nothing there
and nothing here (``nullable``, ``x-…``, ``strict``); so do annotations.

Most schemas are plain: their own keywords settle that a value meets them.

    >>> sorted(plain_words({"type": "array", "items": {"maxLength": 5}, "minItems": 1}))
    ['items', 'maxLength', 'minItems', 'type']
    >>> plain_words({"type": "string", "pattern": "^a$", "minLength": 3}) is None
    True

The second is not: whether a text of that length matches the expression has to be tried. Plain
schemas are found in one walk, without a document around them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite, prod

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.schema_document import ROOT, SchemaDocument, schema_place
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, pointer_below
from autoparser.analysis.core.schema_keywords import (
    Schema,
    is_number,
    keyword_schemas,
    required_names,
    schema_map,
)
from autoparser.analysis.parsing.turn_request import IdentityCache

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
"""The names of types."""

UNWRITABLE: Mapping[str, str] = {
    "not": "it only excludes values",
    "if": "one part of a value would depend on another",
    "then": "one part of a value would depend on another",
    "else": "one part of a value would depend on another",
    "dependentRequired": "one member would depend on another",
    "dependentSchemas": "one member would depend on another",
    "dependencies": "one member would depend on another",
    "contains": "items would have to be counted by kind",
    "$dynamicRef": "its target depends on the path of references to it",
    "$recursiveRef": "its target depends on the path of references to it",
}
"""Why a keyword cannot be written."""


def unwritable_keyword(
    keyword: str, pointer: str, why: str, *, how: str = "as a grammar"
) -> UnheldKeywordError:
    """Return the error of a keyword that is legal but that no grammar here can express."""
    return UnheldKeywordError(
        f"{keyword} cannot be written {how}: {why}",
        pointer=pointer,
        keyword=keyword,
        hint="leave it out",
    )


IN_PLACE = ("$ref", "allOf", "anyOf", "oneOf")
"""Keywords whose schemas constrain the same value."""

UNEVALUATED: Mapping[str, str] = {
    "unevaluatedProperties": "additionalProperties",
    "unevaluatedItems": "items",
}
"""Keywords for what other keywords leave over, each with the one that means the same where no other
schema constrains the same value."""


def survey_schema(document: SchemaDocument) -> None:
    """Raise SchemaError for the first error in a schema, or keyword that cannot be written."""
    for schema, pointer in reachable_schemas(document):
        for keyword in schema:
            if keyword in UNWRITABLE:
                raise unwritable_keyword(keyword, pointer, UNWRITABLE[keyword])
        for keyword in UNEVALUATED:
            if keyword in schema and any(other in schema for other in IN_PLACE):
                raise unwritable_keyword(keyword, pointer, "its scope depends on other schemas")


def reachable_schemas(
    document: SchemaDocument, *, skips: Callable[[Schema], bool] = lambda _: False
) -> Iterator[tuple[Schema, str]]:
    """Return every schema that is an object and that the root leads to, with its pointer.

    Where it says where it stood before it was moved, that is its pointer. Each of them is
    well-formed; raises SchemaError for the first one that is not. `skips` is whether a well-formed
    schema is left out, with all that is in it.
    """
    # A value from Python may contain NaN, lone surrogates or objects that JSON does not have.
    try:
        json.dumps(document.root, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"the schema is not a JSON value: {error}", pointer=ROOT) from None
    seen: set[str] = set()
    waiting: list[tuple[Json, str]] = [(document.root, ROOT)]
    while waiting:
        schema, pointer = waiting.pop()
        # A recursive schema refers to a place that was already visited.
        if pointer in seen:
            continue
        seen.add(pointer)
        if isinstance(schema, dict):
            if skips(schema):
                continue
            place = schema_place(schema, pointer)
            keyword = malformed_keyword(schema)
            if keyword is not None:
                raise SchemaError(
                    f"{keyword} must be {_EXPECTED[keyword][0]}, not {schema[keyword]!r}",
                    pointer=place,
                    keyword=keyword,
                )
            _check_choices(schema, place)
            yield schema, place
            found = [*_inner_places(schema, pointer)]
            if "$ref" in schema:
                found.append(document.resolve(str(schema["$ref"]), pointer))
            # The first in the schema is checked first.
            waiting += reversed(found)
        elif not isinstance(schema, bool):
            raise SchemaError(
                f"a schema must be an object, true or false, not {schema!r}", pointer=pointer
            )


MOST_JOINED = 2048
"""Combinations of an option of each union that has to hold at once, before any is found to be
impossible; to look at as many takes seconds."""


def _check_choices(schema: Schema, pointer: str) -> None:
    """Raise SchemaError for unions beside unions, whose options multiply."""
    if schema.keys().isdisjoint(_MULTIPLIED):
        return
    # The unions of a schema and of its `allOf` apply at once.
    parts = [schema, *(part for part in keyword_schemas(schema, "allOf") if isinstance(part, dict))]
    unions = (len(keyword_schemas(part, union)) for part in parts for union in ("anyOf", "oneOf"))
    sizes = [size for size in unions if size > 1]
    cases = prod(sizes)
    # A single union has no more cases than its own text lists.
    if len(sizes) > 1 and cases > MOST_JOINED:
        raise SchemaError(
            f"unions that apply at once have {cases} combinations",
            pointer=pointer,
            keyword="allOf",
            hint="write them as one anyOf",
        )


_MULTIPLIED = frozenset({"allOf", "anyOf", "oneOf"})


def malformed_keyword(schema: Schema) -> str | None:
    """Return the first keyword whose value is not of its kind, but for the schemas in it."""
    for keyword, value in schema.items():
        # Nearly every schema has one type, so it is tested first.
        if keyword == "type" and isinstance(value, str) and value in TYPES:
            continue
        expected = _EXPECTED.get(keyword)
        if expected is None:
            continue
        _, kind = expected
        if not (isinstance(value, kind) if isinstance(kind, type) else kind(value)):
            return keyword
    return None


def _inner_places(schema: Schema, pointer: str) -> list[tuple[Json, str]]:
    """Return the schemas right inside a schema, with their pointers."""
    found: list[tuple[Json, str]] = []
    for keyword in (keyword for keyword in _HOLDS_SCHEMAS if keyword in schema):
        value, place = schema[keyword], pointer_below(pointer, keyword)
        if keyword in _BY_NAME and isinstance(value, dict):
            found += [(inner, pointer_below(place, name)) for name, inner in value.items()]
        elif keyword in _IN_LISTS and isinstance(value, list):
            found += [(inner, pointer_below(place, at)) for at, inner in enumerate(value)]
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
    # In JSON Schema, 2.0 is an integer, too.
    return is_number(value) and value >= 0 and value == int(value)


def _is_bound(value: Json) -> bool:
    # `isfinite` raises for an integer beyond the range of floats.
    return is_number(value) and (isinstance(value, int) or isfinite(value))


def _is_type(value: Json) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(kind in TYPES for kind in kinds)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and _are_texts(value)


def _are_texts(values: Sequence[Json]) -> bool:
    """Return whether all values are texts; most are of no class derived from it."""
    return set(map(type, values)) <= {str} or all(isinstance(value, str) for value in values)


def _is_filled_list(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def _is_positive(value: Json) -> bool:
    return _is_bound(value) and is_number(value) and value > 0


_COUNT = ("a count", _is_count)
_BOUND = ("a number", _is_bound)
_TEXT = ("a string", str)
_MAP = ("an object", dict)
_LIST = ("a non-empty list", _is_filled_list)
_EXPECTED: Mapping[str, tuple[str, type[object] | Callable[[Json], bool]]] = {
    "type": (f"one of {', '.join(TYPES)}, or a list of them", _is_type),
    "enum": ("a list", list),
    "required": ("a list of strings", _is_texts),
    "properties": _MAP,
    "patternProperties": _MAP,
    "prefixItems": ("a list", list),
    "allOf": _LIST,
    "anyOf": _LIST,
    "oneOf": _LIST,
    "pattern": _TEXT,
    "format": _TEXT,
    "$ref": _TEXT,
    "$id": _TEXT,
    "uniqueItems": ("true or false", bool),
    "minimum": _BOUND,
    "maximum": _BOUND,
    "exclusiveMinimum": _BOUND,
    "exclusiveMaximum": _BOUND,
    "multipleOf": (
        "a number above 0",
        _is_positive,
    ),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _COUNT,
    ),
}
"""Requirement on a keyword's value, in words and as its class or a test."""


_SILENT = frozenset(
    {"title", "description", "default", "examples", "deprecated", "$comment", "$defs"}
    | {"definitions", "x-place", "$schema", "readOnly", "writeOnly", "nullable", "example"}
)
_TYPE_ALONE = frozenset({"type", "title", "description", "default"})
"""Keywords of most schemas without inner schemas: only the type's name may be wrong."""
_CHOICES = frozenset({"anyOf", "oneOf", "$ref"})
_TELLS_VALUES = (frozenset({"enum"}), frozenset({"const"}))
STRING_KEYWORDS = frozenset({"pattern", "format", "minLength", "maxLength"})
"""Keywords that constrain texts."""
_LENGTHS = frozenset({"minLength", "maxLength"})
_BOUNDS = frozenset({"minimum", "maximum", "minItems", "maxItems"})
_OF_MEMBERS = frozenset({"properties", "required", "additionalProperties"})
_GROUPS = STRING_KEYWORDS | _BOUNDS | _OF_MEMBERS | {"type", "items"}
"""Keywords that contradict none that speaks of values of another type."""


def plain_words(schema: Json) -> frozenset[str] | None:
    """Return all keywords of a plain schema and of those in it, or None if it is not plain.

    A schema that refers to another place is not plain either. Cached by the schema's text: each
    step of writing asks again, and a walk takes eight times as long as the text.
    """
    return _WORDS.of((), repr(schema), lambda: _plain_words(schema))


def _plain_words(schema: Json) -> frozenset[str] | None:
    words: set[str] = set()
    # Inside of a schema true and false are plain, but alone they have no keywords.
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
        if malformed_keyword(part) is not None or not is_plain(part):
            return None
        words.update(part)
        if not part.keys().isdisjoint(_HOLDING):
            waiting += _inner_schemas(part)
    return frozenset(words)


_WORDS: IdentityCache[frozenset[str] | None] = IdentityCache(1024)
_HOLDING = frozenset({"properties", "items", "additionalProperties", "anyOf", "oneOf"})
"""Keywords of a plain schema with schemas in them."""


def _inner_schemas(schema: Schema) -> list[Json]:
    """Return the schemas right inside a plain one."""
    found = [*schema_map(schema, "properties").values()] if "properties" in schema else []
    found += [schema[keyword] for keyword in ("items", "additionalProperties") if keyword in schema]
    if "anyOf" in schema or "oneOf" in schema:
        found += keyword_schemas(schema, "anyOf") or keyword_schemas(schema, "oneOf")
    return found


def all_plain(document: SchemaDocument) -> bool:
    """Return whether nothing said in one place contradicts another."""
    return all(is_plain(schema) for schema, _ in reachable_schemas(document))


def is_plain(schema: Schema) -> bool:
    """Return whether no keyword of a well-formed schema can contradict the rest of it."""
    keywords = frozenset(schema) - _SILENT
    # A union or reference alone contradicts nothing; beside others, each option is merged first.
    if len(keywords) == 1 and keywords <= _CHOICES:
        (choice,) = keywords
        return choice == "$ref" or any(
            option is not False for option in keyword_schemas(schema, choice)
        )
    if keywords - {"type"} in _TELLS_VALUES:
        return _values_are_typed(schema)
    if not keywords <= _GROUPS:
        return False
    # Whether a text of some length matches a pattern or format has to be tried.
    texts = keywords & STRING_KEYWORDS
    return (
        (len(texts) <= 1 or (texts == _LENGTHS and _is_open(schema, "minLength", "maxLength", 0)))
        and (keywords.isdisjoint(_BOUNDS) or _are_bounds_open(schema))
        and ("items" not in keywords or _has_items(schema))
        and (keywords.isdisjoint(_OF_MEMBERS) or _has_members(schema))
    )


def _values_are_typed(schema: Schema) -> bool:
    values = [schema["const"]] if "const" in schema else keyword_schemas(schema, "enum")
    # An empty enum allows no value.
    if "type" not in schema or not values:
        return bool(values)
    named = schema["type"]
    kinds = named if isinstance(named, list) else [named]
    if "string" in kinds and _are_texts(values):
        return True
    return all(
        (kind := json_type(value)) in kinds or (kind is JsonType.INTEGER and "number" in kinds)
        for value in values
    )


def _are_bounds_open(schema: Schema) -> bool:
    numbers = _is_open(schema, "minimum", "maximum", 1)
    return numbers and _is_open(schema, "minItems", "maxItems", 0)


def _has_items(schema: Schema) -> bool:
    """Return whether every required item may exist; they are all of one schema."""
    items = schema["items"]
    return not isinstance(items, list) and (items is not False or not schema.get("minItems"))


def _has_members(schema: Schema) -> bool:
    """Return whether every required member may exist."""
    named = schema_map(schema, "properties")
    if False in named.values():
        return False
    free = schema.get("additionalProperties") is not False
    return free or named.keys() >= set(required_names(schema))


def _is_open(schema: Schema, lower: str, upper: str, apart: int) -> bool:
    """Return whether two bounds leave room; whole numbers need one between them."""
    least, most = schema.get(lower), schema.get(upper)
    return not (is_number(least) and is_number(most)) or most - least >= apart
