"""Lark for llguidance: the trap of the added tokens, the quick idioms, the separators."""

from __future__ import annotations

import random
from string import ascii_lowercase

import pytest
from llguidance import LLMatcher
from tokenizers import AddedToken

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.text_format import EdgeStrip
from autoparser.analysis.grammar.grammar_rules import (
    FreeProse,
    FreeTextNode,
    GrammarRules,
    ProseExit,
    sequence_of,
)
from autoparser.analysis.grammar.lark_writer import write_lark
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.analysis.tiny import CONTENT, calls, turn

from .offers import STRICT
from .tokens import byte_tokenizer, guidance, ids

NEWLINES, NOTHING = EdgeStrip.NEWLINES, EdgeStrip.NOTHING

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


NESTED = ChatTemplate(
    "{% macro part(v) %}{% if v is mapping %}{% for k, x in v.items() if x is not none %}"
    "]~[<{{ k }}>{{ part(x) }}]~[</{{ k }}>{% endfor %}"
    "{% elif v is iterable and v is not string %}"
    "{% for x in v %}]~[<each>{{ part(x) }}]~[</each>{% endfor %}"
    "{% elif v is none %}{% elif v is string %}{{ v }}{% else %}{{ v|tojson }}{% endif %}"
    "{% endmacro %}"
    + turn(
        CONTENT,
        calls(
            "]~[<do {{ f.name }}>{% for k, v in f.arguments.items() if v is not none %}"
            "]~[<{{ k }}>{{ part(v) }}]~[</{{ k }}>{% endfor %}</do>"
        ),
    ).text
)
"""A list within a list begins with the text that the list begins with."""


def test_a_list_that_begins_as_the_list_around_it_is_written() -> None:
    parameters = {
        "type": "object",
        "properties": {"o": {"type": "array"}},
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    grammar = analyze(NESTED).grammar([tool])
    for value in ([], ["x"], [["x"], "y"], [[["x"]], [["y", 1]], True], ["]~[ <b>"]):
        call = {"type": "function", "function": {"name": "f", "arguments": {"o": value}}}
        written = NESTED.render([{"role": "assistant", "content": "", "tool_calls": [call]}])
        answer = written.removeprefix("A:").removesuffix(".\n")
        assert grammar.accepts(answer).accepted, answer
        assert not grammar.accepts(answer.replace("</o>", "</p>")).accepted


@pytest.mark.parametrize("kind", ["left", "right", "both"])
def test_a_text_whose_line_breaks_are_stripped_has_a_first_character_that_repeats(
    kind: str,
) -> None:
    """With one first character llguidance finds no slice for the first mask of the text."""
    strips = {"left": (NEWLINES, NOTHING), "right": (NOTHING, NEWLINES), "both": (NEWLINES,) * 2}
    prose = FreeProse(left=strips[kind][0], right=strips[kind][1])
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "", sequence_of()),)), {})
    written = write_lark(rules, OpaqueTokens()).text
    begun = {"left": "/[^\\n]+(?s:.*)/", "right": "/(?s:.*)[^\\n]/"}
    assert begun.get(kind, "/[^\\n]+(?:(?s:.*)[^\\n])?/") in written
    matcher = LLMatcher(guidance(), LLMatcher.grammar_from_lark(written))
    for text, is_taken in {"\na": kind == "right", "a\n": kind == "left", "a\nb": True}.items():
        matcher.reset()
        tokens = ids(byte_tokenizer(), text)
        taken = matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()
        assert taken is is_taken, text


def test_hundreds_of_tools_whose_ids_carry_the_name_share_one_lexer() -> None:
    analysis = analysis_of("t5-id-carries-name")
    assert analysis.format.calls is not None
    assert analysis.format.calls.naming is not None
    rng = random.Random(5)
    names = ["".join(rng.choices(ascii_lowercase, k=rng.randrange(6, 30))) for _ in range(300)]
    offered: list[Json] = [{"type": "function", "function": {"name": name}} for name in names]
    grammar = analysis.grammar(offered, tool_choice="required")
    loaded = LLMatcher.grammar_from_lark(grammar.lark(byte_tokenizer()))
    start = LLMatcher(guidance(), loaded, log_level=0)
    turns = analysis.turns(offered)
    for name in names:
        call = ToolCall(name, {}, f"{name}:0")
        tokens = ids(byte_tokenizer(), turns.written(Message(calls=(call,))).rest)
        # Copies of a matcher share its lexer, and what it has built for other answers.
        assert start.deep_copy().validate_tokens(tokens) == len(tokens), name
