"""The types of JSON value that a schema allows, through all that it refers to and combines.

No type that a value of the schema has is left out; where that cannot be told, a type stays in. A
number may be a whole one: where numbers are allowed, integers are.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.spelling import suggest

from .json_type import JsonType, type_of
from .keywords import Schema, schemas_of
from .schema_document import Document
from .schema_errors import SchemaError

ANY: frozenset[JsonType] = frozenset(JsonType)
NONE: frozenset[JsonType] = frozenset()
_NUMBERS = frozenset({JsonType.INTEGER, JsonType.NUMBER})
_BY_NAME = {str(kind): frozenset({kind}) for kind in JsonType} | {"number": _NUMBERS}
_UNIONS = ("anyOf", "oneOf")
_IN_PLACE = frozenset({"$ref", "allOf", "if", *_UNIONS})
"""Keywords by which other schemas speak of the same value."""


def kinds_of(
    schema: Json, document: Document, above: frozenset[str] = frozenset()
) -> frozenset[JsonType]:
    """Name the types of the values that a schema of the document allows.

    `above` holds the references on the way here. Raises SchemaError for what is not a schema, and
    for a reference that leads back to itself without a value between.
    """
    if schema is False:
        return NONE
    if schema is True or schema is None:
        return ANY
    if not isinstance(schema, dict):
        raise SchemaError(
            f"{schema!r} is not a JSON schema that a value could meet",
            hint='give an object such as {"type": "string"}',
        )

    kinds = _own(schema)
    return (
        kinds if schema.keys().isdisjoint(_IN_PLACE) else kinds & _beside(schema, document, above)
    )


def _beside(schema: Schema, document: Document, above: frozenset[str]) -> frozenset[JsonType]:
    """Name the types that other schemas allow, which a schema refers to or combines."""

    def inner(part: Json) -> frozenset[JsonType]:
        return kinds_of(part, document, above)

    kinds = ANY
    if "$ref" in schema:
        kinds &= _referred(str(schema["$ref"]), document, above)
    for part in schemas_of(schema, "allOf"):
        kinds &= inner(part)
    for union in _UNIONS:
        options = schemas_of(schema, union)
        if options:
            kinds &= NONE.union(*map(inner, options))
    if "if" in schema:
        met = inner(schema["if"]) & inner(schema.get("then", True))
        kinds &= met | inner(schema.get("else", True))
    return kinds


def _referred(reference: str, document: Document, above: frozenset[str]) -> frozenset[JsonType]:
    if reference in above:
        raise SchemaError(
            f"$ref {reference!r} leads back to itself without a value between",
            hint="refer to it from within a member or an item",
        )
    found = document.known.get(reference)
    if found is None:
        target, _ = document.resolve(reference)
        found = kinds_of(target, document, above | {reference})
        document.known[reference] = found
    return found


def _own(schema: Schema) -> frozenset[JsonType]:
    """Name the types that the keywords for the value itself allow."""
    kinds = _declared(schema)
    if "const" in schema:
        kinds &= _with_whole(type_of(schema["const"]))
    values = schema.get("enum")
    if isinstance(values, list):
        kinds &= NONE.union(*(_with_whole(type_of(value)) for value in values))
    refused = schema.get("not")
    if refused == {}:
        return NONE
    if isinstance(refused, dict) and refused.keys() == {"type"}:
        kinds -= _declared(refused)
    return NONE if refused is True else kinds


def _declared(schema: Schema) -> frozenset[JsonType]:
    declared = schema.get("type")
    if isinstance(declared, str) and declared in _BY_NAME:
        return _BY_NAME[declared]
    return ANY if declared is None else NONE.union(*_named(declared))


def _named(declared: Json) -> Iterator[frozenset[JsonType]]:
    for name in declared if isinstance(declared, list) else [declared]:
        try:
            yield _with_whole(JsonType(str(name)))
        except ValueError:
            raise SchemaError(
                f"{name!r} is not a type of JSON Schema",
                hint=suggest(str(name), JsonType, f"the types are {', '.join(JsonType)}"),
            ) from None


def _with_whole(kind: JsonType) -> frozenset[JsonType]:
    return _BY_NAME[kind]
