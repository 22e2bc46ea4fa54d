"""Whether a value meets a flat schema: for the values of an enum that has company."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    Schema,
    count,
    identity,
    is_number,
    names_of,
    schema_map,
    schemas_of,
)

from .numbers import interval_of, multiple_of
from .regex_text import python_text
from .string_shape import string_shape

Flat: TypeAlias = Callable[[Json], list[Schema]]
"""Takes a schema apart into flat ones."""


def holds(value: Json, schema: Schema, flat: Flat) -> bool:
    """Whether a value meets a flat schema."""
    if "type" in schema and not types_of(value) & {*map(str, schemas_of(schema, "type"))}:
        return False
    if "enum" in schema and identity(value) not in map(identity, schemas_of(schema, "enum")):
        return False
    match value:
        case str():
            return _text_holds(value, schema)
        case list():
            return _array_holds(value, schema, flat)
        case dict():
            return _object_holds(value, schema, flat)
        case _ if is_number(value):
            return _number_holds(value, schema)
        case _:
            return True


def types_of(value: Json) -> set[str]:
    """Return the names of a value's types; a whole number has two."""
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean"}
        case str():
            return {"string"}
        case list():
            return {"array"}
        case dict():
            return {"object"}
        case _:
            return {"integer", "number"} if value == int(value) else {"number"}


def _any_holds(value: Json, schema: Json, flat: Flat) -> bool:
    return any(holds(value, option, flat) for option in flat(schema))


def _text_holds(value: str, schema: Schema) -> bool:
    shape = string_shape(schema, "#")
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        return False
    return all(re.fullmatch(python_text(regex), value) for regex in shape.patterns)


def _number_holds(value: float, schema: Schema) -> bool:
    number = Decimal(repr(value))
    step = multiple_of(schema)
    return interval_of(schema).holds(number) and (step is None or number % step == 0)


def _array_holds(value: list[Json], schema: Schema, flat: Flat) -> bool:
    if not _counted(len(value), schema, "Items"):
        return False
    if schema.get("uniqueItems") and len({*map(identity, value)}) < len(value):
        return False
    prefix, others = schemas_of(schema, "prefixItems"), schema.get("items", True)
    return all(
        _any_holds(item, prefix[at] if at < len(prefix) else others, flat)
        for at, item in enumerate(value)
    )


def _object_holds(value: dict[str, Json], schema: Schema, flat: Flat) -> bool:
    if not _counted(len(value), schema, "Properties"):
        return False
    if not all(name in value for name in names_of(schema, "required")):
        return False
    properties, patterns = schema_map(schema, "properties"), schema_map(schema, "patternProperties")
    for name, inner in value.items():
        schemas = [properties[name]] if name in properties else []
        schemas += [
            patterns[source] for source in patterns if _text_holds(name, {"pattern": source})
        ]
        schemas = schemas or [schema.get("additionalProperties", True)]
        if not all(_any_holds(inner, one, flat) for one in schemas):
            return False
        if not _any_holds(name, schema.get("propertyNames", True), flat):
            return False
    return True


def _counted(size: int, schema: Schema, what: str) -> bool:
    least, most = count(schema, f"min{what}"), count(schema, f"max{what}")
    return (least is None or size >= least) and (most is None or size <= most)
