"""References by anchor and by id, as pointers from the root."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from autoparser.analysis.core.schema_document import ROOT, SchemaDocument
from autoparser.analysis.core.schema_keywords import JsonType, schema_references
from autoparser.analysis.core.schema_parts import SchemaPart

PLAIN: list[Any] = [
    True,
    {"$id": "https://example.org/tool", "$ref": "#/$defs/A", "$defs": {"A": {}}},
    {"properties": {"$id": {"type": "string"}, "$anchor": {"$ref": "#"}}},
]


@pytest.mark.parametrize("schema", PLAIN, ids=str)
def test_pointers_stay(schema: Any) -> None:
    assert SchemaDocument.of(schema).root is schema


NAMED: list[dict[str, Any]] = [
    {"$ref": "#hat", "$defs": {"A": {"$anchor": "hat", "type": "string"}}},
    {"$id": "https://example.org/a", "$ref": "a#/$defs/A", "$defs": {"A": {"type": "string"}}},
    {"$ref": "b.json", "$defs": {"B": {"$id": "b.json", "type": "string"}}},
    {
        "$ref": "b.json#/$defs/C",
        "$defs": {"B": {"$id": "b.json", "$defs": {"C": {"type": "string"}}}},
    },
    {
        "allOf": [{"$ref": "b.json"}],
        "$defs": {
            "A": {"type": "null"},
            "B": {"$id": "b.json", "$ref": "#/$defs/A", "$defs": {"A": {"type": "string"}}},
        },
    },
    {"$ref": "yes.json", "type": "string", "$defs": {"B": {"$id": "yes.json"}}},
    {"enum": ["x", 3], "$ref": "#hat", "$defs": {"A": {"$anchor": "hat", "enum": ["x", {}]}}},
]


@pytest.mark.parametrize("schema", NAMED, ids=str)
def test_names_become_pointers_of_the_same_meaning(schema: dict[str, Any]) -> None:
    root = SchemaDocument.of(schema).root
    assert isinstance(root, dict)
    assert all(reference.startswith(ROOT + "/") for reference in schema_references(root))
    judges: list[Validator] = [Draft202012Validator(each) for each in (schema, root)]
    values: list[Any] = ["x", 3, None, {}, []]
    for value in values:
        assert len({judge.is_valid(value) for judge in judges}) == 1
    assert SchemaPart.of(schema).kinds == frozenset({JsonType.STRING})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/elsewhere"},
        {"$ref": "#nobody", "$defs": {"A": {"$id": "a.json", "properties": 3}}},
        {"$ref": "a.json", "$defs": {"A": {"$id": "a.json", "$ref": 7}}},
        {"$id": "https://[", "$ref": "x"},
    ],
    ids=str,
)
def test_what_leads_nowhere_stays(schema: dict[str, Any]) -> None:
    assert "$ref" in SchemaPart.of(schema).document.root  # type: ignore[operator]
    assert SchemaPart.of(schema).kinds is None
