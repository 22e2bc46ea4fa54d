"""Make random schemas: of every type, with every effective keyword, combined and nested."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

from autoparser.analysis.core.conversation import Json
from tests.case_tables import load_cases

Parts: TypeAlias = dict[str, Json]

PARTS: dict[str, Any] = load_cases(__file__, "parts.yaml")
NAMES, VALUES = PARTS["names"], PARTS["values"]
DEFS: Parts = PARTS["definitions"]
BOUNDS: tuple[Json, ...] = (-3, -1, 0, 0.5, 1, 2.5, 5, 10)
STEPS: tuple[Json, ...] = (1, 2, 3, 5, 0.5)
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


def tool_schema(rng: random.Random) -> Parts:
    """Return the parameters' schema of a tool."""
    schema = _object(rng, 2)
    schema["type"] = "object"
    if rng.random() < 0.3:
        schema |= _conditions(rng, 1, of_objects=True)
    schema["$defs"] = DEFS
    return schema


def random_schema(rng: random.Random, depth: int) -> Json:
    """Return a schema, with schemas inside it as deep as `depth`."""
    is_leaf = depth <= 0 or rng.random() < 0.55
    found = _leaf(rng) if is_leaf else rng.choice(_LARGER)(rng, depth)
    if isinstance(found, dict) and rng.random() < 0.1:
        found = _as_tools_have_it(rng, found)
    if isinstance(found, dict) and rng.random() < 0.2:
        found = {**found, **_conditions(rng, depth - 1)}
    return found


def _leaf(rng: random.Random) -> Json:
    kind = rng.choice(("string", "string", "string", "integer", "number", "values", "types"))
    if kind == "string":
        return {"type": "string", **_some(rng, _TEXT, 0.3)}
    if kind in ("integer", "number"):
        return {"type": kind, **_some(rng, _NUMBER, 0.3)}
    if kind == "values":
        values = rng.sample(VALUES, rng.randint(1, 4))
        found: Parts = {"const": values[0]} if rng.random() < 0.3 else {"enum": values}
        return {**found, **_some(rng, {**_TEXT, **_NUMBER}, 0.15), **_typed(rng, 0.2)}
    others: list[Json] = [True, {}, {"type": rng.choice(TYPES)}, _typed(rng, 1.0)]
    return rng.choice(others)


def _as_tools_have_it(rng: random.Random, schema: Parts) -> Parts:
    """Return a schema as generators from types write it, with nullable values and titles."""
    told: Parts = {"title": "A", "description": 'It\'s "a" <b>.', "examples": ["a", 1]}
    kind = schema.get("type")
    match rng.choice(("or null", "null type", "words", "default")):
        case "or null":
            return {"anyOf": [schema, {"type": "null"}], "default": None}
        case "null type" if isinstance(kind, str) and kind != "null":
            return {**schema, "type": [kind, "null"]}
        case "default":
            return {**schema, "default": rng.choice(VALUES)}
        case _:
            return {**schema, **told}


def _typed(rng: random.Random, chance: float) -> Parts:
    return {"type": [*rng.sample(TYPES, rng.randint(1, 3))]} if rng.random() < chance else {}


def _object(rng: random.Random, depth: int) -> Parts:
    names: list[str] = rng.sample(NAMES, rng.randint(0, 3))
    if rng.random() < 0.06:
        names.append(rng.choice(PARTS["odd_names"]))
    found: Parts = {
        "type": "object",
        "properties": {n: random_schema(rng, depth - 1) for n in names},
    }
    if rng.random() < 0.7:
        found["required"] = [name for name in names if rng.random() < 0.6]
    if rng.random() < 0.03:
        found["required"] = [rng.choice(NAMES)]
    if rng.random() < 0.8:
        found["additionalProperties"] = (
            False if rng.random() < 0.8 else random_schema(rng, depth - 1)
        )
    found |= _some(rng, {"minProperties": _count, "maxProperties": _count}, 0.08)
    if rng.random() < 0.06:
        found["patternProperties"] = {rng.choice(("^a", "^k", "d$")): random_schema(rng, depth - 1)}
    if rng.random() < 0.05:
        found["propertyNames"] = {"maxLength": 2}
    return found


def _array(rng: random.Random, depth: int) -> Parts:
    found: Parts = {"type": "array"}
    if rng.random() < 0.7:
        found["items"] = random_schema(rng, depth - 1)
    if rng.random() < 0.15:
        found["prefixItems"] = [random_schema(rng, depth - 1) for _ in range(rng.randint(1, 2))]
    found |= _some(rng, {"minItems": _count, "maxItems": _count}, 0.25)
    if rng.random() < 0.1:
        found["uniqueItems"] = rng.random() < 0.7
    if rng.random() < 0.06:
        found["contains"] = random_schema(rng, depth - 1)
    return found


def _told_by_kind(rng: random.Random, depth: int) -> Parts:
    """Return one of several objects, each of which says by a constant which it is."""
    kinds: list[Json] = rng.sample(["a", "b", "text", 1], rng.randint(2, 3))
    options: list[Json] = []
    for kind in kinds:
        option = _object(rng, depth - 1)
        inner = option["properties"]
        assert isinstance(inner, dict)
        option["properties"] = {**inner, "kind": {"const": kind}}
        option["required"] = ["kind"]
        options.append(option)
    return {rng.choice(("anyOf", "oneOf")): options}


def _union(rng: random.Random, depth: int) -> Parts:
    keyword = rng.choice(("anyOf", "anyOf", "oneOf", "allOf"))
    return {keyword: [random_schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]}


def _reference(rng: random.Random, _depth: int) -> Parts:
    return {"$ref": f"#/$defs/{rng.choice([*DEFS])}", **_some(rng, {**_TEXT, **_NUMBER}, 0.1)}


_LARGER: tuple[Callable[[random.Random, int], Parts], ...] = (
    *(_object, _array, _union, _reference, _object, _array, _union, _reference),
    _told_by_kind,
)


def _conditions(rng: random.Random, depth: int, *, of_objects: bool = False) -> Parts:
    """Return something that is said beside the rest."""

    def inner() -> Json:
        if of_objects:
            needed: Parts = {"required": [rng.choice(NAMES)]}
            return needed if rng.random() < 0.5 else {"properties": {"a": _leaf(rng)}}
        return random_schema(rng, depth)

    match rng.choice(
        ("anyOf", "oneOf", "allOf", "not", "if", "dependent", "schemas", "unevaluated")
    ):
        case "not":
            return {"not": inner()}
        case "if":
            return {"if": inner(), "then": inner(), "else": inner()}
        case "dependent":
            return {"dependentRequired": {rng.choice(NAMES): [rng.choice(NAMES)]}}
        case "schemas":
            return {"dependentSchemas": {rng.choice(NAMES): inner()}}
        case "unevaluated":
            return {"unevaluatedProperties": False}
        case union:
            return {union: [inner() for _ in range(rng.randint(1, 3))]}


def _count(rng: random.Random) -> Json:
    return rng.randint(0, 3)


_TEXT: dict[str, Callable[[random.Random], Json]] = {
    "pattern": lambda rng: rng.choice(PARTS["patterns"]),
    "format": lambda rng: rng.choice(PARTS["formats"]),
    "minLength": _count,
    "maxLength": lambda rng: rng.randint(1, 6),
}
_NUMBER: dict[str, Callable[[random.Random], Json]] = {
    "minimum": lambda rng: rng.choice(BOUNDS),
    "maximum": lambda rng: rng.choice(BOUNDS),
    "exclusiveMinimum": lambda rng: rng.choice(BOUNDS),
    "exclusiveMaximum": lambda rng: rng.choice(BOUNDS),
    "multipleOf": lambda rng: rng.choice(STEPS),
}


def _some(
    rng: random.Random, keywords: dict[str, Callable[[random.Random], Any]], chance: float
) -> Parts:
    return {keyword: make(rng) for keyword, make in keywords.items() if rng.random() < chance}
