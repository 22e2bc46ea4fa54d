"""Check that a marker with its own token is accepted only as that token."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autoparser.analysis.core.conversation import ToolCall
from tests.analysis.parsing.loop import analysis_of
from tests.corpus.grammar_readers import EngineTokens
from tests.offers import tool

from .proofs import written_call
from .tokens import EOS

TOOLS = (tool("book", {"room": {"type": "string"}, "days": {"type": "integer"}}, "room"),)
STRICT = ({**TOOLS[0], "function": {**TOOLS[0]["function"], "strict": True}},)
REQUESTS: dict[str, dict[str, Any]] = {
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "strict": {"tools": STRICT},
}
FORMATS = {
    "j1-json-in-tags": "<tool_call>",
    "a1-function-parameter": "<tool_call>",
    "a7-token-pairs": "<|tool_call:start|>",
    "j3-4-tagged-array": "<tool_calls>",
    "reasoning-delimiter": "<|use|>",
}


def written(name: str) -> str:
    """Return the turn of a call without its end."""
    found = written_call(analysis_of(name), TOOLS, ToolCall("book", {"room": "blue", "days": 3}))
    assert found is not None
    return found[1]


@pytest.mark.parametrize("asked", REQUESTS)
@pytest.mark.parametrize("name", FORMATS)
def test_tag_accepts_the_marker_token_and_masks_its_spelling(name: str, asked: str) -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(name).grammar(**REQUESTS[asked])
    engine = EngineTokens((EOS, *grammar.preserved_tokens), [EOS])
    tag, text = grammar.structural_tag(engine.tokenizer), written(name)
    for tag_ in (tag, grammar.structural_tag()):
        assert engine.masked(tag_, text + EOS) == ""
    assert engine.taken(grammar.structural_tag(), text + EOS, FORMATS[name])
    # If the model may choose, a spelled marker is text.
    assert engine.taken(tag, text + EOS, FORMATS[name]) is (asked == "strict")


def test_trigger_is_a_token_if_the_tokenizer_has_one() -> None:
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT)
    engine = EngineTokens((EOS, "<tool_call>"), [EOS])
    number = engine.tokenizer.hf.token_to_id("<tool_call>")
    with_ids = json.dumps(grammar.structural_tag(engine.tokenizer))
    assert f'"trigger_tokens": [{number}]' in with_ids
    assert '"triggers": ["<tool_call>"]' in json.dumps(grammar.structural_tag())
    # A tokenizer that has no marker changes nothing.
    assert grammar.structural_tag(EngineTokens([EOS], [EOS]).tokenizer) == grammar.structural_tag()


def test_gbnf_writes_token_ids_unless_the_grammar_is_lazy() -> None:
    analysis = analysis_of("j1-json-in-tags")
    engine = EngineTokens((EOS, "<tool_call>"), [EOS])
    number = engine.tokenizer.hf.token_to_id("<tool_call>")
    grammar = analysis.grammar(TOOLS, tool_choice="required")
    assert f"<[{number}]>" in grammar.gbnf(engine.tokenizer)
    assert f"<[{number}]>" not in grammar.gbnf()
    lazy = analysis.grammar(TOOLS, lazy=True)
    assert lazy.gbnf(engine.tokenizer) == lazy.gbnf()
