"""Grammars for real vocabularies: Qwen's, and DeepSeek's with a token inside a longer marker.

Texts whose length is bounded: under its masks, llguidance takes them to their end.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache
from itertools import takewhile

import pytest
from llguidance import LLMatcher, LLTokenizer

from autoparser import ChatTemplate, Json, Message, OpaqueTokens, ToolCall, TurnFormat, analyze
from autoparser.analysis.core.call_notation import NamingId
from autoparser.analysis.core.string_notation import StringText
from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.grammar.call_writer import id_pattern
from autoparser.analysis.grammar.grammar_rules import GrammarRules, PatternNode
from autoparser.analysis.grammar.lark_writer import write_lark
from autoparser.analysis.grammar.member_rows import as_node
from autoparser.analysis.grammar.string_ways import key_path
from autoparser.analysis.grammar.text_stretches import vocabulary_slices
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.decoding.tokenizers_here import deepseek, qwen, takes
from tests.analysis.parsing.loop import analysis_of
from tests.fixture_analyses import TEMPLATES, TOKENS
from tests.offers import tool

from .judge import done_by
from .proofs import USUAL, completeness, grammar_for, request_for

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


def test_deepseek_has_special_and_plain_markers() -> None:
    tokenizer = deepseek()
    loaded = LLTokenizer(tokenizer.hf.to_str())
    for number, token in tokenizer.hf.get_added_tokens_decoder().items():
        is_special = loaded.is_special_token(number)
        assert (token.content in tokenizer.opaque.ids) is is_special, token.content
    assert "</think>" in tokenizer.opaque.ids
    # An added token that also occurs inside longer markers is text to llguidance.
    assert tokenizer.hf.token_to_id("｜DSML｜") is not None
    assert "｜DSML｜" not in tokenizer.opaque.ids


@pytest.mark.parametrize("name", ["a4-type-flags", "a4-2-type-flags-other-section"])
def test_token_inside_a_longer_marker_is_accepted(name: str) -> None:
    text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8").replace("XSML", "DSML")
    assert faults(analyze(ChatTemplate(text, TOKENS)).format, deepseek()) == []


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "novel-notation"])
def test_turns_in_qwen_tokens_are_accepted(name: str) -> None:
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= set(qwen().opaque.ids)
    assert faults(analysis_of(name).format, qwen_turns()) == []


LETTERS = "a" * 19_999
MARKUP = random.Random(3).choices('abc<>/= \n"\\{}é日', k=36_000)
"""Prefixes of closers, of escapes, and of multi-byte characters."""


@pytest.mark.parametrize(
    ("said", "text", "left_out"),
    [
        ({"maxLength": 2_000}, "".join(MARKUP[:1_999]), (("maxLength",), ())),
        ({"maxLength": 20_000}, "".join(MARKUP[:19_999]), (("maxLength",), ())),
        ({"maxLength": 50_000}, "".join(MARKUP[:36_000]), (("maxLength",), ("maxLength",))),
        ({"maxLength": 1e22}, "".join(MARKUP[:21_000]), (("maxLength",), ("maxLength",))),
        ({"minLength": 1_000}, "".join(MARKUP[:2_000]), ((), ())),
        ({"minLength": 20_001}, "".join(MARKUP[:21_000]), (("minLength",), ("minLength",))),
        ({"pattern": "^[a-z]{0,20000}$"}, LETTERS, (("pattern",), ())),
        ({"pattern": "^(?:[a-z]{1,200} ?){0,200}$"}, LETTERS, (("pattern",), ("pattern",))),
        ({"pattern": "^[a-z]+$", "maxLength": 20_000}, LETTERS[:2_000], (("maxLength",), ())),
    ],
    ids=lambda value: "".join(value) if isinstance(value, dict) else None,
)
@pytest.mark.parametrize("style", ["a1-function-parameter", "j1-json-in-tags"])
def test_long_text_is_accepted_to_its_end(
    style: str, said: dict[str, Json], text: str, left_out: tuple[tuple[str, ...], ...]
) -> None:
    tools = [tool("save", {"text": {"type": "string", **said}}, "text")]
    format_, tokenizer = analysis_of(style).format, qwen()
    whole = format_.write(Message(calls=(ToolCall("save", {"text": f"{text}e"}),)))
    request, written = request_for(format_, whole, tools)
    grammar = replace(grammar_for(format_, request), loosen=True)
    lark = Constraint.ebnf(grammar.lark(tokenizer))
    assert (
        tuple(loosening.keyword for loosening in grammar.loosened("lark"))
        == left_out[style == "j1-json-in-tags"]
    )
    answer = takewhile(
        lambda token: token not in tokenizer.eos_ids, tokenizer.encode(whole[written:])
    )
    with GrammarBackend(tokenizer, slices=grammar.slices(tokenizer)) as backend:
        engine = backend.grammar(lark)
        assert takes(engine, [*answer])
        assert engine.is_accepting()


@pytest.mark.parametrize("edged", [False, True])
@pytest.mark.parametrize("ends", [">", " >"])
def test_first_mask_of_a_json_string_walks_few_tokens(ends: str, edged: bool) -> None:
    # Qwen's vocabulary has 248,077 tokens. If names had a slice of their letters alone, 477,680
    # nodes would be walked.
    tokenizer = qwen()
    (name,) = key_path(StringText(), (), ends)
    assert isinstance(name, PatternNode)
    names = [slice_ for _, slice_ in name.begun]
    guidance = tokenizer.ll_with(vocabulary_slices([">", "="], edged=edged, patterns=names))
    lark = 'start: %json {"type": "array", "items": {"type": "string"}}'
    matcher = LLMatcher(guidance, LLMatcher.grammar_from_lark(lark), log_level=0)
    assert matcher.consume_tokens(tokenizer.encode('["'))
    matcher.compute_logit_bias()
    assert done_by(matcher, tokenizer.encode("<|im_end|>"))["trie_nodes_walked"] < 10_000


WORDS = [slice_ for _, slice_ in id_pattern(NamingId(), "f", "").begun]
WALKED = {
    "the first letter of a stripped text": ("", r"/[^\s\x1c-\x1f]+(?s:.*)/", 10_000),
    "a text between signs that names may hold": ("a", r"/[^\x{2f}\x{3e}\x{7e}]+/", 10_000),
}


@pytest.mark.parametrize("place", WALKED)
@pytest.mark.parametrize("ends", [">", " >"])
def test_mask_of_free_text_walks_few_tokens(ends: str, place: str) -> None:
    begun, text, most = WALKED[place]
    (name,) = key_path(StringText(), (), ends)
    assert isinstance(name, PatternNode)
    names = [slice_ for _, slice_ in name.begun]
    slices = vocabulary_slices([">", "/>~"], edged=True, patterns=[*names, *WORDS])
    matcher = LLMatcher(
        qwen().ll_with(slices),
        LLMatcher.grammar_from_lark(f'start: TEXT "~"\nTEXT: {text}\n'),
        log_level=0,
    )
    assert not begun or matcher.consume_tokens(qwen().encode(begun))
    matcher.compute_logit_bias()
    assert done_by(matcher, [qwen().ll.eos_token])["trie_nodes_walked"] < most


@pytest.mark.parametrize("ends", [">", " >"])
def test_masks_within_an_undeclared_name_walk_few_tokens(ends: str) -> None:
    declared = ("city", "city_name")
    node = as_node(key_path(StringText("<p=", ">"), declared, ends))
    written = write_lark(GrammarRules(node, {}), OpaqueTokens())
    (pattern,) = re.findall(r"(/.+/ & ~/city\|city_name/)\n", written.text)
    plain, made = (
        LLMatcher(qwen().ll_with(written.slices), LLMatcher.grammar_from_lark(lark), log_level=0)
        for lark in (f'start: "<p=" NAME ">"\nNAME: {pattern}\n', written.text)
    )
    for token in map(qwen().encode, ("<", "p", "=", "city", "_name", "s", "2")):
        assert plain.compute_logit_bias() == made.compute_logit_bias()
        assert plain.consume_tokens(token)
        assert made.consume_tokens(token)
    assert plain.compute_logit_bias() == made.compute_logit_bias()
    walked = [
        done_by(matcher, qwen().encode("<|im_end|>"))["trie_nodes_walked"]
        for matcher in (plain, made)
    ]
    # The plain pattern finds no slice in five of the masks.
    assert walked[0] > 10 * walked[1]
