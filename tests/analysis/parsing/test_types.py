"""Raw text is typed by what its parameter's schema allows, however the schema says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from .loop import analysis_of, disagreement

# As pydantic writes models: enums, nested models and what is constrained stand under $defs.
DEFS: dict[str, Any] = {
    "Level": {"enum": ["1", "2", "3"], "title": "Level"},
    "Code": {"type": "string", "pattern": "^[0-9]+$"},
    "Seats": {"type": "integer", "minimum": 1, "maximum": 9},
    "Guest": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "room": {"$ref": "#/$defs/Code"}},
        "required": ["name"],
    },
}

RAW: list[tuple[Any, str, Any]] = [
    ({"$ref": "#/$defs/Level"}, "2", "2"),
    ({"$ref": "#/$defs/Level", "default": "1"}, "2", "2"),
    ({"allOf": [{"$ref": "#/$defs/Level"}], "default": "1"}, "3", "3"),
    ({"anyOf": [{"$ref": "#/$defs/Code"}, {"type": "null"}], "default": None}, "0042", "0042"),
    ({"anyOf": [{"$ref": "#/$defs/Code"}, {"type": "null"}]}, "null", None),
    ({"anyOf": [{"$ref": "#/$defs/Code"}, {"type": "integer"}]}, "42", 42),
    ({"const": "17"}, "17", "17"),
    ({"const": 17}, "17", 17),
    ({"enum": ["true", "false"]}, "true", "true"),
    ({"enum": [True, "auto"]}, "true", True),
    ({"type": "string", "not": {"const": "x"}}, "12", "12"),
    ({"not": {"type": ["number", "boolean", "null", "array", "object"]}}, "12", "12"),
    ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": False}, "12", "12"),
    ({"oneOf": [{"const": "on"}, {"const": "1"}]}, "1", "1"),
    ({"allOf": [{"type": ["string", "integer"]}, {"type": "string"}]}, "12", "12"),
    ({"$ref": "#/$defs/Seats"}, "4", 4),
    ({"$ref": "#/$defs/Seats"}, "4.0", 4),
    ({"$ref": "#/$defs/Seats"}, "04", 4),
    ({"type": "number"}, "2.50", 2.5),
    ({"$ref": "#/$defs/Guest"}, '{"name": "Ada", "room": "7"}', {"name": "Ada", "room": "7"}),
    ({"anyOf": [{"$ref": "#/$defs/Guest"}, {"type": "null"}]}, '{"name": "A"}', {"name": "A"}),
    ({"type": "array", "items": {"$ref": "#/$defs/Code"}}, '["1", "2"]', ["1", "2"]),
    ({"$ref": "#/$defs/Nobody"}, "12", 12),
    ({"type": "text"}, "12", 12),
    ({"anyOf": 3}, "12", 12),
    (7, "12", 12),
    ({}, "12", 12),
    ({}, "twelve", "twelve"),
]

CALLS: Mapping[str, str] = {
    "a1-function-parameter": "<tool_call>\n<function=book>\n<parameter=it>\n{}\n</parameter>\n"
    "</function>\n</tool_call>",
    "a2-key-value-tags": "<tool_call>book\n<arg_key>it</arg_key>\n<arg_value>{}</arg_value>\n"
    "</tool_call>",
}


def read(fixture: str, text: str, parameters: Any) -> Any:
    """Read the one call of a text, in one shot and character by character."""
    tool = {"type": "function", "function": {"name": "book", "parameters": parameters}}
    parser = analysis_of(fixture).parser([tool])
    text = f"</think>{text}"
    assert not disagreement(parser, text, list(text))
    (call,) = parser.parse(text).tool_calls
    return json.loads(call.arguments)


@pytest.mark.parametrize("fixture", CALLS)
@pytest.mark.parametrize(("schema", "text", "value"), RAW, ids=str)
def test_raw_text_is_typed_by_its_schema(
    fixture: str, schema: Any, text: str, value: object
) -> None:
    parameters = {"type": "object", "properties": {"it": schema}, "$defs": DEFS}
    found = read(fixture, CALLS[fixture].format(text), parameters)
    assert found == {"it": value}
    assert type(found["it"]) is type(value)


PARAMETERS: list[Any] = [
    {"$ref": "#/$defs/Booking"},
    {"allOf": [{"$ref": "#/$defs/Booking"}, {"required": ["it"]}]},
    {"anyOf": [{"$ref": "#/$defs/Booking"}, {"properties": {"it": {"const": "1"}}}]},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"type": "object", "patternProperties": {"^i": {"type": "string"}}},
    {"$ref": "#booking"},
]


@pytest.mark.parametrize("schema", PARAMETERS, ids=str)
def test_parameters_are_found_wherever_they_stand(schema: dict[str, Any]) -> None:
    booking = {"type": "object", "properties": {"it": {"type": "string"}}, "$anchor": "booking"}
    whole = {**schema, "$defs": {"Booking": booking}}
    assert read("a1-function-parameter", CALLS["a1-function-parameter"].format("12"), whole) == {
        "it": "12"
    }


def test_what_stands_in_elements_is_typed_by_its_own_schema() -> None:
    fixture = "a6-key-is-tag"
    calls = analysis_of(fixture).format.calls
    assert calls is not None
    value: dict[str, Any] = {"codes": ["1", "2"], "guest": {"name": "7", "nights": 3}, "level": "2"}
    written = calls.arguments.write(value)
    properties: dict[str, Any] = {
        "codes": {"type": "array", "items": {"$ref": "#/$defs/Code"}},
        "guest": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Guest"}]},
        "level": {"allOf": [{"$ref": "#/$defs/Level"}]},
    }
    parameters = {"type": "object", "properties": properties, "$defs": DEFS}
    text = "".join(_filled(piece, written) for piece in calls.row)
    whole = f"{calls.section_open}{text}{calls.section_close}"
    assert read(fixture, whole, parameters) == value


def _filled(piece: object, written: str) -> str:
    return {"name": "book", "arguments": written}.get(str(piece), str(piece))


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}, "ab": {}},
}


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"a": {"b": 1}}},
        {"a": {"b": 1}, "b": 2},
        {"a": {"ab": 1}},
        {"a": {"a": {"a": {"b": 1}}}, "ab": "x"},
        {"item": [["1"], ["2"]], "b": 3},
    ],
)
def test_an_element_may_hold_one_of_its_own_name_or_of_a_later_argument(
    value: dict[str, Any],
) -> None:
    fixture = "a6-key-is-tag"
    calls = analysis_of(fixture).format.calls
    assert calls is not None
    written = calls.arguments.write(value)
    lists = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    parameters = {**TREE, "$defs": {"tree": TREE}}
    parameters["properties"] = {**TREE["properties"], "item": lists}
    text = "".join(_filled(piece, written) for piece in calls.row)
    whole = f"{calls.section_open}{text}{calls.section_close}"
    assert read(fixture, whole, parameters) == value
