"""Lark for llguidance: the trap of the added tokens, the quick idioms, the separators."""

from __future__ import annotations

import pytest
from llguidance import LLMatcher
from tokenizers import AddedToken

from autoparser.analysis.loading.tokens import tokenizer_of
from tests.analysis.reading.parsing.loop import analysis_of

from .offers import STRICT
from .tokens import byte_tokenizer, guidance, ids

QWEN = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
ADDED = ("<a>", "<|b|>", "</c d>", "[e]", "⟦f⟧", "｜g｜", "<h>i", "  ")


def test_the_special_tokens_are_those_that_llguidance_takes_for_special() -> None:
    tokenizer, loaded = byte_tokenizer(ADDED), guidance(ADDED)
    known = tokenizer_of(tokenizer).opaque.ids
    for number, token in tokenizer.get_added_tokens_decoder().items():
        assert (token.content in known) is loaded.is_special_token(number), token.content


def test_a_special_token_without_brackets_counts() -> None:
    tokenizer = byte_tokenizer(("[of this test]",))
    tokenizer.add_special_tokens([AddedToken("[SPECIAL]", special=True)])
    assert set(tokenizer_of(tokenizer).opaque.ids) >= {"[SPECIAL]"}


def test_a_text_is_cut_at_the_special_tokens() -> None:
    opaque = tokenizer_of(byte_tokenizer(("<a>", "<a><b>"))).opaque
    longer, shorter = opaque.ids["<a><b>"], opaque.ids["<a>"]
    assert opaque.pieces("x<a><b>y<a>") == ["x", longer, "y", shorter]
    assert opaque.pieces("") == []


@pytest.mark.parametrize("added", [(), ("<tool_call>", "</tool_call>"), ("<think>", "<|im_end|>")])
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_llguidance_takes_it(name: str, added: tuple[str, ...]) -> None:
    text = analysis_of(name).grammar(STRICT).lark(byte_tokenizer(added))
    assert LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(text), guidance(added)) == ""


def test_no_special_token_is_quoted() -> None:
    text = analysis_of("j1-json-in-tags").grammar(STRICT).lark(byte_tokenizer(QWEN))
    assert [token for token in QWEN if token in text] == []
    number = byte_tokenizer(QWEN).token_to_id("<tool_call>")
    assert f"<[{number}]>" in text


@pytest.mark.parametrize("added", [QWEN, QWEN[1:]])
def test_a_token_is_masked_until_its_whitespace_stands_before_it(added: tuple[str, ...]) -> None:
    tokenizer = byte_tokenizer(added)
    text = analysis_of("j1-json-in-tags").grammar(STRICT).lark(tokenizer)
    matcher = LLMatcher(guidance(added), LLMatcher.grammar_from_lark(text))
    (call,) = ids(tokenizer, "<tool_call>")
    for piece, allowed in (("Look.", 0), ("\n", 200), ("\n", 200), ("x", 0)):
        assert matcher.consume_tokens(ids(tokenizer, piece))
        assert matcher.compute_logit_bias()[call] == allowed, piece
