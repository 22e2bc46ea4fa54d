"""Grammars for real vocabularies: Qwen's, and DeepSeek's with a token inside a longer marker."""

from __future__ import annotations

from functools import cache

import pytest
from llguidance import LLTokenizer

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.decoding.tokenizers_here import deepseek, qwen
from tests.analysis.parsing.loop import analysis_of
from tests.fixture_analyses import TEMPLATES, TOKENS

from .proofs import USUAL, completeness

pytestmark = pytest.mark.slow


@cache
def qwen_turns() -> ModelTokenizer:
    """Return Qwen's vocabulary where the end of a turn ends no answer: a line break follows it."""
    return tokenizer_of(qwen().hf, eos=["<|endoftext|>"])


@cache
def backend(tokenizer: ModelTokenizer) -> GrammarBackend:
    return GrammarBackend(tokenizer)


def faults(format_: TurnFormat, tokenizer: ModelTokenizer) -> list[object]:
    """Feed the battery to the grammar of a vocabulary."""
    return [*filter(None, completeness(format_, backend(tokenizer).grammar, USUAL))]


def test_deepseek_has_markers_of_both_kinds() -> None:
    tokenizer = deepseek()
    loaded = LLTokenizer(tokenizer.hf.to_str())
    for number, token in tokenizer.hf.get_added_tokens_decoder().items():
        is_special = loaded.is_special_token(number)
        assert (token.content in tokenizer.opaque.ids) is is_special, token.content
    assert "</think>" in tokenizer.opaque.ids
    # An added token that stands inside longer markers is text to llguidance.
    assert tokenizer.hf.token_to_id("｜DSML｜") is not None
    assert "｜DSML｜" not in tokenizer.opaque.ids


@pytest.mark.parametrize("name", ["a4-type-flags", "a4-2-type-flags-other-section"])
def test_a_token_inside_a_longer_marker_is_accepted(name: str) -> None:
    text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8").replace("XSML", "DSML")
    assert faults(analyze(ChatTemplate(text, TOKENS)).format, deepseek()) == []


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "novel-notation"])
def test_turns_in_qwens_tokens_are_accepted(name: str) -> None:
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= set(qwen().opaque.ids)
    assert faults(analysis_of(name).format, qwen_turns()) == []
