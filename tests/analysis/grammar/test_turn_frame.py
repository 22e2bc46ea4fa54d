"""What stands around the calls of a turn: its end, its headers, the order of its parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.structural_tag import choice_tag, constant_tag
from tests.analysis.parsing.loop import analysis_of
from tests.corpus.grammar_readers import EngineTokens

from .offers import STRICT, tool

HEADERS, HERMES = "t2-recipient-header", "j1-json-in-tags"
NAMED = {"type": "function", "function": {"name": "get_weather"}}
TOOLS = (tool("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}}, "city"),)
REQUESTS: list[dict[str, Any]] = [
    {"tools": TOOLS, "tool_choice": "required"},
    {"tools": TOOLS, "tool_choice": NAMED},
    {"tools": TOOLS, "strict": True},
]
HM = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
CALL = ' to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Oslo", "days": 3}'


@pytest.mark.parametrize("before", ["", HM])
@pytest.mark.parametrize("request_", REQUESTS, ids=["required", "named", "strict"])
def test_the_token_that_ends_a_call_and_the_answer_is_not_masked(
    request_: dict[str, Any], before: str
) -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(HEADERS).grammar(**request_)
    engine = EngineTokens(grammar.preserved_tokens, ["<|return|>", "<|call|>"])
    assert engine.masked(grammar.structural_tag(), f"{before}{CALL}<|call|>") == ""
    assert engine.masked(grammar.structural_tag(), f"{before}{CALL[:-1]}<|call|>") == "<|call|>"


def test_a_declared_end_closes_each_call_so_that_there_is_one() -> None:
    grammar = replace(
        analysis_of(HERMES).grammar(STRICT, tool_choice="required"), eos=("</tool_call>",)
    )
    call = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n'
    for dialect in GrammarDialect:
        assert grammar.accepts(call, dialect=dialect).accepted
        refused = grammar.accepts(f"{call}</tool_call>\n{call}", dialect=dialect)
        assert (refused.accepted, refused.taken) == (False, len(call))


def test_an_answer_in_another_form_holds_no_end_of_the_turn() -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(HERMES).grammar(None, json_schema={})
    choice = replace(grammar, content_tag=choice_tag([constant_tag("Hello.")]))
    engine = EngineTokens(["<eos>"], ["<eos>"])
    for end, masked in (("", ""), ("<|im_end|>\n", "<"), ("\n", "\n")):
        assert engine.masked(choice.structural_tag(), f"Hello.{end}<eos>") == masked
