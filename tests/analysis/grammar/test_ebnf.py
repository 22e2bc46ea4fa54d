"""Check that xgrammar's EBNF accepts rendered turns and has no rule with slow masks."""

from __future__ import annotations

import importlib
import re

import pytest

from autoparser.analysis.core.conversation import ToolCall
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.lanes import sampled
from tests.offers import tool

from .proofs import written_call

TOOLS = (
    tool("book", {"room": {"type": "string"}, "days": {"type": "integer"}}, "room"),
    tool("find", {"words": {"type": "array", "items": {"type": "string"}}}),
)
CALLS = (
    ToolCall("book", {"room": 'a "b" <c> & \\ d\nthe second line', "days": 3}, "abcDEF123"),
    ToolCall("book", {"room": "Größe 日本"}, "abcDEF123"),
)


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", sampled(fixture_names(), 12))
def test_ebnf_accepts_template_output(name: str, choice: str) -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    matcher_of = importlib.import_module("xgrammar.testing")._get_matcher_from_grammar
    analysis = analysis_of(name)
    for prompt, text in filter(None, (written_call(analysis, TOOLS, call) for call in CALLS)):
        grammar = analysis.grammar(TOOLS, tool_choice=choice, prompt=prompt)
        loaded = xgrammar.Grammar.from_ebnf(grammar.ebnf())
        matcher = matcher_of(loaded)
        assert matcher.accept_string(text), text
        assert matcher.is_terminated()
        other = matcher_of(loaded)
        taken = other.accept_string(text.replace("book", "cook")) and other.is_terminated()
        assert not (choice == "required" and taken)


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_ebnf_with_free_text_stays_under_5000_characters(name: str) -> None:
    grammar = analysis_of(name).grammar(TOOLS, tool_choice="required")
    assert len(grammar.ebnf()) < 5_000
    # A repetition of one character costs 100 ms a mask within JSON strings.
    assert not re.search(r"\w+ ::= .*\b(char|character)\*", grammar.ebnf())
    assert grammar.loosened("ebnf") == ()
