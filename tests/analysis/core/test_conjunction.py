"""Schemas that all hold, as one: it accepts just what they accept together."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser.analysis.core.schema_keywords import JsonType, type_of
from autoparser.analysis.core.schema_parts import NOTHING, SchemaPart, flat_conjunction
from autoparser.analysis.grammar.schema_reader import SchemaReader

MERGED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"minimum": 5}, {"minimum": 2}, {"minimum": 5}),
    (
        {"maximum": 5, "minLength": 1},
        {"maximum": 2, "minLength": 3},
        {"maximum": 2, "minLength": 3},
    ),
    ({"type": "number"}, {"type": ["integer", "null"]}, {"type": ["integer"]}),
    ({"type": "string"}, {"type": "null"}, NOTHING),
    ({"enum": [1, "a", None]}, {"enum": ["a", 1.0]}, {"enum": [1, "a"]}),
    ({"enum": ["a"]}, {"enum": ["b"]}, NOTHING),
    ({"const": "a"}, {"const": "b"}, NOTHING),
    ({"multipleOf": 4}, {"multipleOf": 6}, {"multipleOf": 12}),
    ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
    ({"pattern": "^a"}, {"pattern": "b$"}, {"pattern": "^a", "allOf": [{"pattern": "b$"}]}),
    (
        {"properties": {"a": {"minimum": 5}}},
        {"properties": {"a": {"minimum": 2}, "b": {}}},
        {"properties": {"a": {"allOf": [{"minimum": 5}, {"minimum": 2}]}, "b": True}},
    ),
    (
        {"properties": {"a": {}}, "additionalProperties": False},
        {"properties": {"b": {"type": "null"}}},
        {"properties": {"a": True, "b": False}, "additionalProperties": False},
    ),
    (
        {"prefixItems": [{"type": "string"}], "items": False},
        {"items": {"minLength": 2}},
        {"prefixItems": [{"allOf": [{"type": "string"}, {"minLength": 2}]}], "items": False},
    ),
    (
        {"if": {"type": "string"}, "then": {"minLength": 2}},
        {"if": {"type": "null"}, "else": {"title": "x"}},
        {
            "if": {"type": "string"},
            "then": {"minLength": 2},
            "allOf": [{"if": {"type": "null"}, "else": {"title": "x"}}],
        },
    ),
    (
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        {"minProperties": 1},
        {
            "allOf": [
                {"properties": {"a": {}}, "unevaluatedProperties": False},
                {"minProperties": 1},
            ]
        },
    ),
    ({"title": "One", "description": "1"}, {"title": "Two"}, {"title": "Two", "description": "1"}),
]


@pytest.mark.parametrize(("first", "second", "both"), MERGED, ids=str)
def test_two_schemas_as_one(
    first: dict[str, Any], second: dict[str, Any], both: dict[str, Any]
) -> None:
    assert flat_conjunction(first, second) == both


VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, 6, 12, -1, 2.5, 4.0, "", "a", "ab", "abc", "b"),
    *([], ["a"], [1], [1, "a"], ["a", "ab", 3], {}, {"a": 1}, {"a": "ab"}, {"b": 2}),
    *({"a": 3, "b": "a"}, {"a": 6, "c": None}, {"a": {"a": 2}}, {"b": [1]}),
]
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


def leaf(rng: random.Random) -> dict[str, Any]:
    makers: list[Callable[[], dict[str, Any]]]
    makers = [
        lambda: {"type": rng.choice(TYPES)},
        lambda: {"type": rng.sample(TYPES, 3)},
        lambda: {"minimum": rng.randint(0, 5), "maximum": rng.randint(3, 12)},
        lambda: {"exclusiveMinimum": rng.randint(0, 3)},
        lambda: {"multipleOf": rng.choice([2, 3, 0.5])},
        lambda: {"minLength": rng.randint(0, 2), "maxLength": rng.randint(1, 3)},
        lambda: {"pattern": rng.choice(["a", "^a", "b$"])},
        lambda: {"enum": rng.sample(VALUES, 6)},
        lambda: {"const": rng.choice(VALUES)},
        lambda: {"not": {"type": rng.choice(TYPES)}},
        lambda: {"required": rng.sample(["a", "b"], 1)},
        lambda: {"minProperties": 1, "maxProperties": 2},
        lambda: {"uniqueItems": True, "maxItems": 2},
        lambda: {"$ref": f"#/$defs/{rng.choice(['one', 'two'])}"},
    ]
    return rng.choice(makers)()


def some_schema(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    """Make a schema of a few keywords."""
    found = leaf(rng)
    for _ in range(rng.randint(0, 2)):
        if depth == 0:
            break

        def inner() -> dict[str, Any]:
            return some_schema(rng, depth - 1)

        makers: list[Callable[[], dict[str, Any]]]
        makers = [
            lambda: {"allOf": [inner(), inner()]},
            lambda: {"anyOf": [inner(), inner()]},
            lambda: {"oneOf": [inner(), inner()]},
            lambda: {"if": inner(), "then": inner()},
            lambda: {"if": inner(), "else": inner()},
            lambda: {"properties": {"a": inner(), rng.choice("bc"): inner()}},
            lambda: {"properties": {"a": inner()}, "additionalProperties": inner()},
            lambda: {"patternProperties": {"^a": inner()}, "additionalProperties": False},
            lambda: {"prefixItems": [inner()], "items": inner()},
            lambda: {"items": inner()},
            lambda: {"contains": inner(), "maxContains": 1},
            lambda: {"propertyNames": {"maxLength": 1}},
            lambda: {"properties": {"a": inner()}, "unevaluatedProperties": False},
            lambda: leaf(rng),
        ]
        found |= rng.choice(makers)()
    return found


def unlike(part: SchemaPart, value: Any) -> str:
    """Say where a value is of a type that its part of the schema has not; nothing if nowhere."""
    kinds = part.kinds
    whole = isinstance(value, float) and value.is_integer()
    if kinds is not None and not {type_of(value), *([JsonType.INTEGER] * whole)} & kinds:
        return f"{value!r} is none of {sorted(kinds)}"
    inner = [(part.item(at), each) for at, each in enumerate(value)] if type(value) is list else []
    if isinstance(value, dict):
        inner = [(part.member(name), each) for name, each in value.items()]
    return next(filter(None, (unlike(each, below) for each, below in inner)), "")


DEFS: dict[str, Any] = {
    "one": {"properties": {"a": {"minimum": 2}}, "required": ["a"], "minLength": 1},
    "two": {"allOf": [{"type": ["string", "integer", "object"]}, {"maximum": 5}]},
}


@pytest.mark.parametrize("seed", range(400))
def test_a_merged_schema_accepts_what_the_original_accepts(seed: int) -> None:
    rng = random.Random(seed)
    schema: dict[str, Any] = {
        "allOf": [some_schema(rng) for _ in range(rng.randint(1, 3))],
        "$ref": rng.choice(["#/$defs/one", "#/$defs/two", "#/$defs/all"]),
        **leaf(rng),
        "$defs": {**DEFS, "all": True},
    }
    merged = SchemaReader(schema).resolved(schema)
    assert "$ref" not in merged or "unevaluatedProperties" in str(merged)
    before = Draft202012Validator(schema)
    after = Draft202012Validator({**merged, "$defs": schema["$defs"]})
    part = SchemaPart.of(schema)
    for value in VALUES:
        valid = before.is_valid(value)
        assert after.is_valid(value) == valid, (value, schema, merged)
        assert not valid or not unlike(part, value), schema
