"""The keywords of JSON schemas: which of them contain schemas, and traversals of these.

For example, a `oneOf` that only requires one of two members becomes an `anyOf`:

    >>> schema = {"oneOf": [{"required": ["path"]}, {"required": ["id"]}]}
    >>> for option in with_simple_names(schema)["anyOf"]:
    ...     print(option)
    {'type': 'object', 'required': ['path'], 'properties': {'id': False}}
    {'type': 'object', 'required': ['id'], 'properties': {'path': False}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import prod
from typing import TypeAlias, TypeGuard

from msgspec.json import decode, encode

from .conversation import Json

Schema: TypeAlias = dict[str, Json]
"""A schema that is an object; other schemas are true and false."""

BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords that map names to schemas; the names are not keywords."""
VALUES = frozenset({"const", "default", "enum", "example", "examples", "x-guidance"})
"""Keywords that contain values; objects in them are not schemas."""

_CONTAINERS = (dict, list)


def is_number(value: Json | None) -> TypeGuard[int | float]:
    """Return whether a value is a JSON number; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def keyword_count(schema: Schema, keyword: str) -> int | None:
    """Return the value of a keyword that is a count, or None if it is absent."""
    value = schema.get(keyword)
    return int(value) if is_number(value) else None


def keyword_schemas(schema: Schema, keyword: str) -> list[Json]:
    """Return the schemas of a keyword with a list of them; an empty list if it is absent."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def schema_map(schema: Schema, keyword: str) -> Schema:
    """Return the schemas of a keyword with schemas by name; an empty mapping if it is absent."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def required_names(schema: Schema) -> list[str]:
    """Return the distinct names of the keyword `required`."""
    return list(dict.fromkeys(map(str, keyword_schemas(schema, "required"))))


def without_keywords(schema: Schema, *keywords: str) -> Schema:
    """Return a schema without some of its keywords."""
    return {keyword: value for keyword, value in schema.items() if keyword not in keywords}


def copied_json(value: Json) -> Json:
    """Return a copy of a value, its objects and lists included."""
    try:
        copied: Json = decode(encode(value))
    except (TypeError, ValueError, RecursionError):
        return _copied_parts(value)
    # Some values are written as others, such as a NaN as null.
    return copied if copied == value else _copied_parts(value)


def _copied_parts(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied_parts(inner) for key, inner in value.items()}
    return [*map(_copied_parts, value)] if isinstance(value, list) else value


def map_schemas(
    schema: Json,
    change: Callable[[Schema], Json],
    *,
    keeps: Callable[[Schema], bool] = lambda _: False,
) -> Json:
    """Return a schema in which every schema is changed, inner ones first.

    Unknown keywords are traversed as well, since a reference may lead there. `keeps` is whether a
    schema stays as it is, with all that is in it.
    """
    if isinstance(schema, list):
        return [map_schemas(inner, change, keeps=keeps) for inner in schema]
    if not isinstance(schema, dict) or keeps(schema):
        return schema
    return change(
        {
            keyword: _map_keyword(keyword, value, change, keeps)
            if isinstance(value, _CONTAINERS)
            else value
            for keyword, value in schema.items()
        }
    )


def _map_keyword(
    keyword: str, value: Json, change: Callable[[Schema], Json], keeps: Callable[[Schema], bool]
) -> Json:
    # An object in `default` or `enum` may look like a schema.
    if keyword in VALUES:
        return value
    if keyword in BY_NAME and isinstance(value, dict):
        return {name: map_schemas(inner, change, keeps=keeps) for name, inner in value.items()}
    return map_schemas(value, change, keeps=keeps)


def may_have_key(value: Json, keys: Iterable[str]) -> bool:
    """Return whether one of some keys may be in a value; if not, it is certainly absent.

    They are looked for in its text, where a key looks like a value, at a tenth of a walk's cost.
    """
    try:
        text = repr(value)
    except RecursionError:
        # The walk below knows no depth.
        return not keys_within(value).isdisjoint(keys)
    for key in keys:  # noqa: SIM110 - a generator would be one more call a key
        if repr(key) in text:
            return True
    return False


def keys_within(value: Json) -> set[str]:
    """Return all keys in a value, keywords or not."""
    found: set[str] = set()
    waiting: list[Json] = [value]
    # The list grows while it is walked, which replaces a recursion.
    for outer in waiting:
        if isinstance(outer, dict):
            found.update(outer)
            inside: Iterable[Json] = outer.values()
        else:
            inside = outer if isinstance(outer, list) else ()
        for inner in inside:
            if isinstance(inner, _CONTAINERS):
                waiting.append(inner)  # noqa: PERF401 - a comprehension would be one more call
    return found


def schema_references(schema: Json) -> Iterator[str]:
    """Yield the references in a schema and in all schemas inside it."""
    # A stack in place of recursion, since schemas of users may be nested very deep.
    waiting: list[Json] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            target = value.get("$ref")
            if isinstance(target, str):
                yield target
            for keyword, inner in value.items():
                if keyword in BY_NAME and isinstance(inner, dict):
                    waiting += inner.values()
                elif keyword not in VALUES:
                    waiting.append(inner)


def with_simple_names(schema: Json) -> Json:
    """Return the same schema in keywords that grammars can be held to, where it is about names.

    A `propertyNames` that allows every name is left out: libraries that derive schemas from types
    write `{"type": "string"}` there, which all names are. A `oneOf` whose options only require
    members becomes an `anyOf`: exactly one of `[{"required": ["path"]}, {"required": ["id"]}]`
    holds if one of the members is present and the other absent.
    """
    return map_schemas(
        schema,
        lambda part: _with_names_told_apart(
            without_keywords(part, "propertyNames") if _has_free_names(part) else part
        ),
        keeps=lambda part: not may_have_key(part, ("propertyNames", "oneOf")),
    )


def _has_free_names(schema: Schema) -> bool:
    names = schema.get("propertyNames")
    if not isinstance(names, dict):
        return names is True
    # The names of JSON objects are strings, so a type that includes strings excludes no name.
    kinds = names.get("type", "string")
    return names.keys() <= {"type", *NOTES} and "string" in (
        kinds if isinstance(kinds, list) else [kinds]
    )


NOTES = frozenset({"title", "description", "default", "examples", "$comment"})
"""Keywords without influence on which values are valid."""


def _with_names_told_apart(schema: Schema) -> Json:
    given = keyword_schemas(schema, "oneOf")
    wanted = [names for names in map(_names_alone, given) if names is not None]
    # An option without a type allows every value but objects, so several options would match.
    of_any = [option for option in given if isinstance(option, dict) and "type" not in option]
    is_object = schema.get("type") == "object" or len(of_any) != 1
    if len(wanted) < 2 or len(wanted) < len(given) or not is_object:  # noqa: PLR2004 - a choice
        return schema
    options: list[Json] = []
    for names in wanted:
        others = [[name for name in other if name not in names] for other in wanted]
        others.remove([])  # the schema's own list
        if prod(map(len, others)) + len(options) > _MOST_OPTIONS:
            return schema
        for absent in product(*others):
            closed: Schema = dict.fromkeys(absent, False)
            options.append({"type": "object", "required": [*names], "properties": closed})
    union_schema: Schema = {"anyOf": options} if options else {"not": {}}
    rest = without_keywords(schema, "oneOf")
    return (
        {"allOf": [rest, union_schema]}
        if union_schema.keys() & rest.keys()
        else {**rest, **union_schema}
    )


_MOST_OPTIONS = 16
"""The most options of the `anyOf`: one for each choice of an absent member of each other option."""


def _names_alone(schema: Json) -> list[str] | None:
    """Return the members that a schema requires, or None if it has other constraints."""
    if not isinstance(schema, dict) or schema.keys() - {"type", "required", *NOTES}:
        return None
    return required_names(schema) if schema.get("type", "object") == "object" else None
