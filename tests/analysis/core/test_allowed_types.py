"""The types that a schema allows, through every keyword that says something of them."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.core.schema_document import SchemaDocument
from autoparser.analysis.core.schema_keywords import JsonType, SchemaError
from autoparser.analysis.core.schema_parts import ANY, SchemaPart, kinds_of

NUMBERS = "integer number"
DEFS: dict[str, Any] = {
    "Unit": {"enum": ["metric", "imperial"], "title": "Unit"},
    "Guest": {"type": "object", "properties": {"name": {"type": "string"}}},
    "Count": {"$anchor": "count", "type": "integer", "minimum": 1},
}

KINDS: list[tuple[Any, str | None]] = [
    (True, None),
    (False, ""),
    ({}, None),
    ({"title": "Anything"}, None),
    ({"type": "string"}, "string"),
    ({"type": ["string", "null"]}, "null string"),
    ({"type": "number"}, NUMBERS),
    ({"type": "integer"}, "integer"),
    ({"type": [*JsonType]}, None),
    ({"const": "7"}, "string"),
    ({"const": None}, "null"),
    ({"const": True}, "boolean"),
    ({"enum": ["a", 1, [2], {}]}, "array integer object string"),
    ({"enum": [0.5]}, NUMBERS),
    ({"enum": ["a", 1], "type": "string"}, "string"),
    ({"$ref": "#/$defs/Unit"}, "string"),
    ({"$ref": "#/$defs/Unit", "description": "Of the answer."}, "string"),
    ({"$ref": "#/$defs/Guest"}, "object"),
    ({"$ref": "#count"}, "integer"),
    ({"$ref": "#/$defs/Unit", "type": "integer"}, ""),
    ({"allOf": [{"$ref": "#/$defs/Unit"}], "default": "metric"}, "string"),
    ({"allOf": [{"type": "number"}, {"type": ["integer", "string"]}]}, "integer"),
    ({"allOf": [{"type": "string"}, {"minimum": 3}]}, "string"),
    ({"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]}, "null string"),
    ({"oneOf": [{"type": "integer"}, {"const": "all"}]}, "integer string"),
    ({"anyOf": [{"type": "integer"}, {}]}, None),
    ({"anyOf": [{"type": "integer"}, {}], "type": ["string", "integer"]}, "integer string"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}], "oneOf": [{"const": None}]}, "null"),
    ({"if": {"type": "string"}, "else": {"type": "null"}}, "null string"),
    ({"if": {"type": "string"}, "then": {"const": "a"}, "else": False}, "string"),
    ({"not": {"type": "string"}}, "array boolean integer null number object"),
    ({"not": {"type": ["number", "array", "object"]}}, "boolean null string"),
    ({"not": {"const": "a"}}, None),
    ({"not": {}}, ""),
    ({"minLength": 3}, None),
    ({"properties": {"a": {"type": "string"}}}, None),
]


@pytest.mark.parametrize(("schema", "kinds"), KINDS, ids=str)
def test_the_types_of_a_schema(schema: Any, kinds: str | None) -> None:
    whole = {**schema, "$defs": DEFS} if isinstance(schema, dict) else schema
    document = SchemaDocument.of(whole)
    found = kinds_of(document.root, document)
    assert found == (ANY if kinds is None else set(kinds.split()))
    assert SchemaPart.of(whole).kinds == (None if kinds is None else found)


STRANGE: list[tuple[Any, str]] = [
    (3, "is not a JSON schema"),
    ({"anyOf": ["string"]}, "is not a JSON schema"),
    ({"type": "int"}, "'int' is not a type of JSON Schema; did you mean integer?"),
    ({"type": 5}, "5 is not a type"),
    ({"$ref": "#/$defs/Nobody"}, "leads nowhere"),
    ({"$ref": "#nobody"}, "leaves the schema"),
    ({"$ref": "https://example.org/schema"}, "leaves the schema"),
    ({"$ref": "#/title", "title": "a"}, "leads to no schema"),
    ({"$ref": "#"}, "leads back to itself"),
    ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "leads back to itself"),
]


@pytest.mark.parametrize(("schema", "words"), STRANGE, ids=str)
def test_what_is_no_schema_says_nothing_to_a_reader(schema: Any, words: str) -> None:
    document = SchemaDocument.of(schema)
    with pytest.raises(SchemaError) as caught:
        kinds_of(document.root, document)
    assert words in str(caught.value)
    part = SchemaPart.of(schema)
    assert part.kinds is None
    assert part.member("a").kinds is None
    assert part.item(0).kinds is None
    assert not part.names


def test_references_that_fork_again_and_again_are_read_in_time() -> None:
    forks: dict[str, Any] = {
        f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}, {"$ref": f"#/$defs/D{at + 1}"}]}
        for at in range(40)
    }
    forks["D40"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    part = SchemaPart.of({"$ref": "#/$defs/D0", "$defs": forks})
    assert part.kinds == frozenset({JsonType.OBJECT})
    assert part.member("a").kinds in (None, {JsonType.STRING})
    assert part.names <= {"a"}
