"""The EBNF of xgrammar takes what templates write, and has no rule that costs a mask its time."""

from __future__ import annotations

import importlib
import re

import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.lanes import sampled

from .offers import tool

TOOLS = (
    tool("book", {"room": {"type": "string"}, "days": {"type": "integer"}}, "room"),
    tool("find", {"words": {"type": "array", "items": {"type": "string"}}}),
)
CALLS = (
    ToolCall("book", {"room": 'a "b" <c> & \\ d\nthe second line', "days": 3}, "abcDEF123"),
    ToolCall("book", {"room": "Größe 日本"}, "abcDEF123"),
)


def written(name: str, call: ToolCall) -> tuple[str, str] | None:
    """Return a prompt and the turn of a call without its end, or None if none is written."""
    analysis = analysis_of(name)
    turn = analysis.turns(TOOLS).written_turn(Message("", calls=(call,)))
    text = turn.continuation
    calls = analysis.format.calls
    # If the id carries the name, the written name is not the call's own.
    if text is None or call.name not in text or calls is None or calls.naming is not None:
        return None
    for end in analysis.grammar(TOOLS).stop_strings:
        text = text.partition(end)[0]
    return turn.prompt, text


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", sampled(fixture_names(), 12))
def test_ebnf_accepts_template_output(name: str, choice: str) -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    matcher_of = importlib.import_module("xgrammar.testing")._get_matcher_from_grammar
    for prompt, text in filter(None, (written(name, call) for call in CALLS)):
        grammar = analysis_of(name).grammar(TOOLS, tool_choice=choice, prompt=prompt)
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
