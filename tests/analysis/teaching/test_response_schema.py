"""Outputs read by a `response_schema`, as the transformers that knew it read them."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.teaching.suggested_labels import read_by_schema

CALL = {
    "type": "object",
    "properties": {
        "type": {"const": "function"},
        "function": {"x-parser": "json", "type": "object", "required": ["name"]},
    },
}
TURN = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "thinking": {"type": "string", "x-regex": "~mull~(.*?)~told~"},
        "content": {"type": "string", "x-regex": "(?:~told~|^)(?!~)(.+?)(?:~use~|~end~|$)"},
        "tool_calls": {
            "type": "array",
            "x-regex-iterator": "~use~(?P<function>.*?)~used~",
            "items": CALL,
        },
    },
}
PAIRS = {
    "type": "object",
    "x-regex": "^look (.*)$",
    "x-regex-key-value": r"(?P<key>\w+)=(?P<value>\S+)",
    "properties": {"days": {"type": "integer"}, "far": {"type": "boolean"}, "x": {"default": 1}},
    "additionalProperties": {"x-parser": "json", "x-parser-args": {"allow_non_json": True}},
}
LOOK = {"name": "look", "arguments": {"city": "Oslo"}}

READ: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "a turn with all": (
        '~mull~Rain?~told~See.\n~use~{"name": "look", "arguments": {"city": "Oslo"}}~used~~end~',
        TURN,
        {
            "role": "assistant",
            "thinking": "Rain?",
            "content": "See.\n",
            "tool_calls": [{"type": "function", "function": LOOK}],
        },
    ),
    "an answer": ("Sun.~end~", TURN, {"role": "assistant", "content": "Sun."}),
    "pairs": (
        "look city=Oslo days=3 far=TRUE near=false",
        PAIRS,
        {"days": 3, "far": True, "x": 1, "city": "Oslo", "near": False},
    ),
    "no pairs": ("say nothing", PAIRS, None),
    "substituted": ("a-b", {"x-regex-substitutions": [["-", "+"]], "type": "string"}, "a+b"),
    "a number": ("1.5", {"type": "number"}, 1.5),
    "one item": ("a", {"type": "array", "prefixItems": [{"type": "string"}]}, ["a"]),
    "not given": (None, {"type": "string"}, None),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read(name: str) -> None:
    text, schema, meant = READ[name]
    assert read_by_schema(text, schema) == meant


UNREAD: list[tuple[Any, dict[str, Any]]] = [
    ("x", {"type": "integer"}),
    ("x", {"type": "boolean"}),
    ("x", {"type": "object"}),
    ("{", {"x-parser": "json"}),
    ("x", {"x-parser": "of its own"}),
    ("x", {"type": "object", "properties": {"a": {"x-regex": "(y)"}}, "required": ["a"]}),
    ("xy", {"type": "array", "x-regex-iterator": "(x)", "prefixItems": [{}, {}]}),
    (3, {"x-regex": "(3)"}),
    (3, {"type": "string"}),
    ("xy", {"x-regex": "(x)(y)"}),
]


@pytest.mark.parametrize(("text", "schema"), UNREAD)
def test_what_it_does_not_fit_is_an_error(text: Any, schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_by_schema(text, schema)
