"""What no grammar is written for: the keyword and its place are named."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.core.schema_keywords import SchemaError
from autoparser.analysis.grammar.gbnf_rules import GbnfRules
from autoparser.analysis.grammar.schema_rules import schema_rules

X: dict[str, Any] = {"type": "string"}

KEYWORDS: list[tuple[dict[str, Any], str]] = [
    ({"not": {"type": "null"}}, "not"),
    ({"if": X, "then": X}, "if"),
    ({"then": X}, "then"),
    ({"else": X}, "else"),
    ({"dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    ({"dependentSchemas": {"a": X}}, "dependentSchemas"),
    ({"dependencies": {"a": ["b"]}}, "dependencies"),
    ({"type": "array", "contains": X}, "contains"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    ({"type": "array", "uniqueItems": True, "maxItems": 2}, "uniqueItems"),
    ({"type": "integer", "multipleOf": 3}, "multipleOf"),
    ({"type": "integer", "multipleOf": 3, "minimum": 0, "maximum": 10**6}, "multipleOf"),
    ({"type": "object", "minProperties": 2}, "minProperties"),
    ({"type": "object", "patternProperties": {"^a": X}}, "patternProperties"),
    (
        {"type": "object", "patternProperties": {"^a": X, "b$": X}, "additionalProperties": False},
        "patternProperties",
    ),
    (
        {
            "type": "object",
            "properties": {"ab": X},
            "patternProperties": {"^a": X},
            "additionalProperties": False,
        },
        "patternProperties",
    ),
    (
        {"type": "object", "properties": {"ab": X}, "propertyNames": {"pattern": "^a"}},
        "propertyNames",
    ),
    ({"$ref": "other.json"}, "$ref"),
    ({"$ref": "https://example.org/s#/a"}, "$ref"),
    ({"$ref": "#anchor"}, "$ref"),
    ({"$ref": "#/$defs/gone"}, "$ref"),
    ({"$dynamicRef": "#x"}, "$dynamicRef"),
    ({"$recursiveRef": "#"}, "$recursiveRef"),
    ({"allOf": [{"pattern": "a"}, {"pattern": "b"}], "type": "string"}, "pattern"),
    ({"allOf": [{"multipleOf": 0.5}, {"multipleOf": 0.3}], "type": "number"}, "multipleOf"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"),
    ({"oneOf": [X, {"type": "string", "minLength": 3}]}, "oneOf"),
    ({"oneOf": [{"type": "object"}, {"required": ["a"], "type": "object"}]}, "oneOf"),
    (
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": X}}]},
        "unevaluatedProperties",
    ),
    ({"unevaluatedItems": False, "$ref": "#/$defs/a", "$defs": {"a": True}}, "unevaluatedItems"),
    ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
    ({"type": "string", "pattern": "(?!a)b"}, "pattern"),
    ({"type": "string", "pattern": "(?<=a)b"}, "pattern"),
    ({"type": "string", "pattern": r"(a)\1"}, "pattern"),
    ({"type": "string", "pattern": r"\bword\b"}, "pattern"),
    ({"type": "string", "pattern": r"\p{L}+"}, "pattern"),
    ({"type": "string", "pattern": "a^b"}, "pattern"),
    ({"type": "string", "pattern": "(^a)*"}, "pattern"),
    ({"type": "string", "pattern": "(a"}, "pattern"),
    ({"type": "string", "pattern": "a)"}, "pattern"),
    ({"type": "string", "pattern": "[a"}, "pattern"),
    ({"type": "string", "pattern": "[]"}, "pattern"),
    ({"type": "string", "pattern": "[z-a]"}, "pattern"),
    ({"type": "string", "pattern": "*a"}, "pattern"),
    ({"type": "string", "pattern": "a**"}, "pattern"),
    ({"type": "string", "pattern": "a{3,2}"}, "pattern"),
    ({"type": "string", "pattern": "\\"}, "pattern"),
    ({"type": "string", "pattern": r"\ud800"}, "pattern"),
    ({"type": "string", "pattern": "a+b+", "minLength": 3}, "minLength"),
    ({"type": "string", "pattern": "^a+b+$", "maxLength": 3}, "maxLength"),
    ({"type": "string", "format": "duration", "maxLength": 5}, "maxLength"),
    ({"type": "text"}, "type"),
    ({"type": []}, "type"),
    ({"type": None}, "type"),
    ({"enum": "abc"}, "enum"),
    ({"required": "a"}, "required"),
    ({"properties": ["a"]}, "properties"),
    ({"anyOf": []}, "anyOf"),
    ({"anyOf": X}, "anyOf"),
    ({"minimum": "3"}, "minimum"),
    ({"exclusiveMinimum": True}, "exclusiveMinimum"),
    ({"maxLength": -1}, "maxLength"),
    ({"minItems": 1.5}, "minItems"),
    ({"multipleOf": 0}, "multipleOf"),
    ({"pattern": 3}, "pattern"),
    ({"$ref": 3}, "$ref"),
    ({"uniqueItems": 1}, "uniqueItems"),
]
PLACES = [
    ("#", lambda schema: schema),
    ("#/properties/a~1b", lambda schema: {"properties": {"a/b": schema}}),
    ("#/items", lambda schema: {"type": "array", "items": schema}),
    ("#/anyOf/1", lambda schema: {"anyOf": [{"type": "null"}, schema]}),
    (
        "#/allOf/0/additionalProperties",
        lambda schema: {"allOf": [{"additionalProperties": schema}]},
    ),
]


@pytest.mark.parametrize(("schema", "keyword"), KEYWORDS, ids=lambda case: str(case)[:60])
@pytest.mark.parametrize(("place", "inside"), PLACES, ids=[place for place, _ in PLACES])
def test_the_keyword_and_its_place_are_named(
    schema: dict[str, Any], keyword: str, place: str, inside: Any
) -> None:
    document = inside({key: value for key, value in schema.items() if key != "$defs"})
    with pytest.raises(SchemaError) as caught:
        schema_rules(document | {"$defs": schema.get("$defs", {})}, GbnfRules())
    assert caught.value.keyword == keyword
    assert caught.value.pointer == f"{place}/{keyword}"
    assert str(caught.value).startswith(f"{place}/{keyword}: ")
    assert keyword in caught.value.message


UNMET: list[Any] = [
    False,
    {"enum": []},
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "string", "pattern": "^abc$", "maxLength": 2},
    {"type": "integer", "minimum": 0.1, "maximum": 0.9},
    {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
    {"type": "number", "minimum": 1, "exclusiveMaximum": 0.5},
    {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6},
    {"type": "array", "minItems": 3, "maxItems": 2},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    {"type": "object", "minProperties": 2, "maxProperties": 1},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "minProperties": 2},
    {"allOf": [{"type": "string"}, {"type": "integer"}]},
    {"anyOf": [False, {"const": 1, "type": "string"}]},
    {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}},
    {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
]


@pytest.mark.parametrize("schema", UNMET, ids=str)
def test_a_schema_that_no_value_meets(schema: Any) -> None:
    with pytest.raises(SchemaError, match="no value meets"):
        schema_rules(schema, GbnfRules())


WHOLE: list[tuple[Any, str]] = [
    (3, "a schema is an object, true or false, not 3"),
    ({"properties": {"a": "string"}}, "#/properties/a: a schema is an object"),
    ({"items": None}, "#/items: a schema is an object"),
    ({"additionalProperties": [True]}, "#/additionalProperties: a schema is an object"),
    ({"const": float("nan")}, "not a JSON value"),
    ({"const": "\ud800"}, "not a JSON value"),
    ({"const": {1, 2}}, "not a JSON value"),
    ({"$ref": "#"}, "leads back to itself"),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}},
        "leads back to itself",
    ),
    ({"$ref": "#/title", "title": "a"}, "leads to no schema"),
    ({"properties": {"a": {"$id": "other", "$ref": "#"}}}, "#/properties/a/$ref: $ref"),
    (
        {
            "allOf": [
                {"anyOf": [{"minLength": n, "title": str(m)} for n in range(30)]} for m in (1, 2)
            ]
        },
        "900 cases",
    ),
]


@pytest.mark.parametrize(("schema", "words"), WHOLE, ids=lambda case: str(case)[:60])
def test_a_schema_that_is_none(schema: Any, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_rules(schema, GbnfRules())
    assert words in str(caught.value)


def test_a_schema_that_is_too_deep() -> None:
    schema: Any = {"type": "string"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="levels deep"):
        schema_rules(schema, GbnfRules())
