"""Structural tags of calls in a notation of their own: one grammar, small, and read by xgrammar."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from tests.analysis.parsing.loop import analysis_of

from .proofs import grammar_for, request_for

pytestmark = pytest.mark.slow

NOTATIONS = (
    "a1-function-parameter", "a2-key-value-tags", "a3-invoke-parameter", "a4-type-flags",
    "a6-key-is-tag", "a7-2-typed-arguments", "g1-pseudo-json", "p1-2-python-list",
)  # fmt: skip
STRING: Json = {"type": "string"}


def offer(name: str, properties: dict[str, Json], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*required]}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


WRITTEN = {"path": "a.html", "text": "<p>\n</", "append": True, "mode": 3, "tags": ["a", "b"]}
TOOLS = [
    offer("get_weather", {"city": STRING, "unit": {"enum": ["C", "F"]}}, "city"),
    offer("search", {"query": STRING, "limit": {"type": "integer"}}, "query"),
    offer(
        "write_file",
        {
            "path": STRING,
            "text": STRING,
            "append": {"type": "boolean"},
            "mode": {"type": "integer"},
            "tags": {"type": "array", "items": STRING},
        },
        "path",
        "text",
    ),
]


def takes(tag: object) -> Callable[[str], bool]:
    """Return whether xgrammar takes a text as a whole."""
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    accepts = importlib.import_module("xgrammar.testing")._is_grammar_accept_string
    grammar = xgrammar.Grammar.from_structural_tag(json.dumps(tag))
    return lambda text: bool(accepts(grammar, text))


@pytest.mark.parametrize("options", [{}, {"tool_choice": "required"}], ids=["auto", "required"])
@pytest.mark.parametrize("name", NOTATIONS)
def test_three_tools_are_less_than_ten_kilobytes(name: str, options: dict[str, Any]) -> None:
    tag = analysis_of(name).grammar(TOOLS, **options).structural_tag()
    assert len(json.dumps(tag)) < 10_000


@pytest.mark.parametrize("name", NOTATIONS)
def test_what_tools_have_alike_is_written_once(name: str) -> None:
    """Each further tool of the same parameters adds its name and its own rules, no text."""
    alike = [offer(f"save_{at}", {"text": STRING, "title": STRING}, "text") for at in range(24)]
    sizes = [
        len(json.dumps(analysis_of(name).grammar(alike[:count]).structural_tag()))
        for count in (8, 16, 24)
    ]
    assert sizes[2] - sizes[1] < 2 * 8 * 400
    assert abs((sizes[2] - sizes[1]) - (sizes[1] - sizes[0])) < 200


@pytest.mark.parametrize("name", NOTATIONS)
def test_xgrammar_takes_a_call_and_refuses_one_of_another_type(name: str) -> None:
    format_ = analysis_of(name).format

    def taken(values: dict[str, Any]) -> bool:
        turn = format_.write(Message(calls=(ToolCall("write_file", values),)))
        request, begun = request_for(format_, turn, TOOLS)
        grammar = grammar_for(format_, replace(request, required=True))
        return takes(grammar.structural_tag())(turn[begun:])

    assert taken(WRITTEN)
    assert not taken({**WRITTEN, "mode": "three"})


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [("", False), ("<", True), ("</paramete", True), ("\n<b", True), ("a</function>", False)],
)
def test_a_text_that_may_not_be_empty_may_begin_as_what_ends_it(text: str, is_taken: bool) -> None:
    analysis = analysis_of("a1-function-parameter")
    tool = offer("save", {"text": {"type": "string", "minLength": 1}}, "text")
    accepts = takes(analysis.grammar([tool], tool_choice="required").structural_tag())
    call = f"<function=save>\n<parameter=text>\n{text}\n</parameter>\n</function>"
    assert accepts(f"\n</think>\n\n<tool_call>\n{call}\n</tool_call>") is is_taken
