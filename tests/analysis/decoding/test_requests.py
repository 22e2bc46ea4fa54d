"""From the fields of a request to at most one constraint."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.decoding.constraints import (
    ANY_JSON,
    Constraint,
    ConstraintError,
    one_constraint,
)

SCHEMA = {"type": "object"}
TAG: dict[str, Any] = {"structures": [], "triggers": []}


class Model:
    """Stands for a class of pydantic."""

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        return SCHEMA


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"json_schema": SCHEMA}, Constraint.json_schema(SCHEMA)),
        ({"json_schema": '{"type":"object"}'}, Constraint.json_schema(SCHEMA)),
        ({"json_schema": Model}, Constraint.json_schema(SCHEMA)),
        ({"json_schema": ANY_JSON}, Constraint.json_schema({})),
        ({"json_schema": True}, Constraint.json_schema({})),
        (
            {"json_schema": SCHEMA, "whitespace": "compact"},
            Constraint.json_schema(SCHEMA, whitespace="compact"),
        ),
        ({"regex": "a+"}, Constraint.regex("a+")),
        ({"ebnf": 'root ::= "a"'}, Constraint.ebnf('root ::= "a"')),
        ({"structural_tag": TAG}, Constraint.structural_tag(TAG)),
        ({"structural_tag": '{"structures": [], "triggers": []}'}, Constraint.structural_tag(TAG)),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": {"type": "text"}, "tool_choice": "required"}, None),
        ({"response_format": {"type": "json_object"}}, Constraint.json_schema(SCHEMA)),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": SCHEMA, "strict": True},
                }
            },
            Constraint.json_schema(SCHEMA),
        ),
        ({"response_format": {"type": "regex", "regex": "a+"}}, Constraint.regex("a+")),
        (
            {"response_format": {"type": "ebnf", "ebnf": "start: A"}},
            Constraint.ebnf("start: A"),
        ),
        (
            {"response_format": {"type": "structural_tag", **TAG}},
            Constraint.structural_tag({"type": "structural_tag", **TAG}),
        ),
        ({"tool_choice": "auto", "regex": "a"}, Constraint.regex("a")),
        ({"tool_choice": "none", "regex": "a"}, Constraint.regex("a")),
        ({"tool_choice": "required"}, None),
    ],
)
def test_one_constraint_is_read(fields: dict[str, Any], expected: Constraint | None) -> None:
    assert one_constraint(**fields) == expected


NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"json_schema": SCHEMA, "regex": "a"},
            "Cannot specify both 'json_schema' and 'regex' in the same request",
        ),
        (
            {"regex": "a", "ebnf": "start: A"},
            "Cannot specify both 'regex' and 'ebnf' in the same request",
        ),
        (
            {"ebnf": "start: A", "structural_tag": TAG},
            "Cannot specify both 'ebnf' and 'structural_tag' in the same request",
        ),
        (
            {"regex": "a", "response_format": {"type": "json_object"}},
            "Cannot specify both 'regex' and 'response_format' in the same request",
        ),
        (
            {"tool_choice": "required", "response_format": {"type": "json_object"}},
            "Tool calling conflicts with explicit response_format",
        ),
        (
            {"tool_choice": NAMED, "response_format": {"type": "regex", "regex": "a"}},
            "Tool calling conflicts with explicit response_format",
        ),
        ({"tool_choice": "required", "regex": "a"}, "Tool calling conflicts with explicit regex"),
        ({"json_schema": "{"}, "json_schema: the schema is not valid JSON"),
        ({"json_schema": []}, "json_schema: a schema is an object, not list"),
        ({"json_schema": False}, "no answer can satisfy it"),
        ({"regex": ""}, "regex: is not text, or empty"),
        ({"ebnf": 3}, "ebnf: is not text, or empty"),
        ({"structural_tag": "{"}, "structural_tag: the structural tag is not valid JSON"),
        ({"structural_tag": "[]"}, "structural_tag: a structural tag is an object, not list"),
        ({"response_format": {"type": "xml"}}, "response_format: there is no type 'xml'"),
        ({"response_format": {"type": "json_schema"}}, "response_format: has no object"),
    ],
)
def test_what_contradicts_is_named(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        one_constraint(**fields)
    assert says in str(caught.value)
