"""What a schema says of members and items, wherever it says it."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.core.schema_parts import SchemaPart

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
LOGIN: dict[str, Any] = {
    "type": "object",
    "properties": {"name": TEXT, "tries": {"type": ["integer", "null"]}},
}

MEMBERS: list[tuple[dict[str, Any], str | None]] = [
    ({"properties": {"name": TEXT}}, "string"),
    ({"properties": {"other": TEXT}}, None),
    ({"additionalProperties": TEXT}, "string"),
    ({"properties": {"name": WHOLE}, "additionalProperties": TEXT}, "integer"),
    ({"patternProperties": {"^na": TEXT, "^x": WHOLE}, "additionalProperties": WHOLE}, "string"),
    ({"patternProperties": {"(": TEXT}, "additionalProperties": WHOLE}, "integer"),
    ({"$ref": "#/$defs/Login"}, "string"),
    ({"allOf": [{"$ref": "#/$defs/Login"}, {"required": ["name"]}]}, "string"),
    ({"allOf": [{"properties": {"name": {"type": ["string", "null"]}}}, LOGIN]}, "string"),
    ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Login"}]}, "string"),
    ({"anyOf": [{"properties": {"name": WHOLE}}, {"$ref": "#/$defs/Login"}]}, "integer string"),
    ({"oneOf": [LOGIN, {"type": "object"}]}, None),
    ({"if": {"required": ["name"]}, "then": LOGIN, "else": LOGIN}, "string"),
    ({"properties": {"name": {"$ref": "#/$defs/Login/properties/name"}}}, "string"),
]


@pytest.mark.parametrize(("schema", "kinds"), MEMBERS, ids=str)
def test_the_types_of_a_member(schema: dict[str, Any], kinds: str | None) -> None:
    part = SchemaPart.of({**schema, "$defs": {"Login": LOGIN}}).member("name")
    assert part.kinds == (None if kinds is None else set(kinds.split()))


def test_the_names_that_a_schema_gives_anywhere() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": TEXT},
        "allOf": [{"properties": {"b": TEXT}}],
        "anyOf": [{"$ref": "#/$defs/Login"}, {"properties": {"d": TEXT}}],
        "$defs": {"Login": LOGIN},
    }
    assert SchemaPart.of(schema).names == {"a", "b", "d", "name", "tries"}


ITEMS: list[tuple[dict[str, Any], list[str | None]]] = [
    ({"items": TEXT}, ["string", "string"]),
    ({"prefixItems": [TEXT], "items": WHOLE}, ["string", "integer", "integer"]),
    ({"prefixItems": [TEXT]}, ["string", None]),
    ({"items": [TEXT], "additionalItems": WHOLE}, ["string", "integer"]),
    ({"anyOf": [{"type": "null"}, {"items": TEXT}]}, ["string"]),
    ({"allOf": [{"items": {"type": ["string", "integer"]}}, {"items": WHOLE}]}, ["integer"]),
]


@pytest.mark.parametrize(("schema", "kinds"), ITEMS, ids=str)
def test_the_types_of_items(schema: dict[str, Any], kinds: list[str | None]) -> None:
    part = SchemaPart.of(schema)
    found = [part.item(at).kinds for at in range(len(kinds))]
    assert found == [None if each is None else {each} for each in kinds]


def test_a_member_that_is_only_required_is_named_by_its_schema() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}}, "allOf": [{"required": ["b"]}]}
    assert SchemaPart.of(schema).names == {"a", "b"}
