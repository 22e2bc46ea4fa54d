"""The frame of a turn's calls: its end, its headers, the order of its parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoparser import Message, Status, ToolCall
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.code_points import CodePoints
from autoparser.analysis.grammar.gbnf_rules import character_class
from autoparser.analysis.grammar.structural_tag import choice_tag, constant_tag
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.case_tables import load_cases
from tests.corpus.grammar_readers import EngineTokens
from tests.lanes import sampled
from tests.offers import STRICT, tool

from .judge import EOS, byte_tokenizer

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
def test_token_that_ends_call_and_answer_is_allowed(request_: dict[str, Any], before: str) -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(HEADERS).grammar(**request_)
    engine = EngineTokens(grammar.preserved_tokens, ["<|return|>", "<|call|>"])
    assert engine.masked(grammar.structural_tag(), f"{before}{CALL}<|call|>") == ""
    assert engine.masked(grammar.structural_tag(), f"{before}{CALL[:-1]}<|call|>") == "<|call|>"


def test_declared_end_after_a_call_limits_the_answer_to_one_call() -> None:
    grammar = replace(
        analysis_of(HERMES).grammar(STRICT, tool_choice="required"), eos=("</tool_call>",)
    )
    call = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n'
    for dialect in GrammarDialect:
        assert grammar.accepts(call, dialect=dialect).accepted
        refused = grammar.accepts(f"{call}</tool_call>\n{call}", dialect=dialect)
        assert (refused.accepted, refused.taken) == (False, len(call))


def test_choice_answer_contains_no_turn_end() -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    grammar = analysis_of(HERMES).grammar(None, json_schema={})
    choice = replace(grammar, content_tag=choice_tag([constant_tag("Hello.")]))
    engine = EngineTokens(["<eos>"], ["<eos>"])
    for end, masked in (("", ""), ("<|im_end|>\n", "<"), ("\n", "\n")):
        assert engine.masked(choice.structural_tag(), f"Hello.{end}<eos>") == masked


PSEUDO = '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>'
TAGGED = (
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
)
BRIEF = '<tool>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool>'
NATIVE = (
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}'
)
SAID = "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant"
FREE = load_cases(__file__, "turn_frame.yaml")["free"]


@pytest.mark.parametrize("dialect", GrammarDialect)
@pytest.mark.parametrize(("name", "text"), FREE)
def test_auto_accepts_answers_in_readable_orders(
    name: str, text: str, dialect: GrammarDialect
) -> None:
    grammar = analysis_of(name).grammar(TOOLS)
    parsed = grammar.parser().parse(text)
    assert {call.status for call in parsed.tool_calls} == {Status.OK}
    assert grammar.accepts(text, dialect=dialect).accepted
    required = analysis_of(name).grammar(TOOLS, tool_choice="required")
    assert not required.accepts(text, dialect=dialect).accepted


@pytest.mark.parametrize(("name", "text"), FREE)
def test_unknown_special_tokens_are_allowed_in_headers(name: str, text: str) -> None:
    grammar = analysis_of(name).grammar(TOOLS)
    added = (*grammar.preserved_tokens, "<|constrain|>")
    assert grammar.accepts(text, tokenizer_of(byte_tokenizer(added), eos=EOS)).accepted
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    assert EngineTokens((EOS, *added), [EOS]).masked(grammar.structural_tag(), text + EOS) == ""


def test_notation_quotes_are_preserved_tokens() -> None:
    assert '<|"|>' in analysis_of("g1-pseudo-json").grammar(TOOLS).preserved_tokens


@pytest.mark.parametrize("name", sampled(fixture_names(), 8))
def test_each_turn_marker_is_preserved(name: str) -> None:
    analysis = analysis_of(name)
    call = ToolCall("get_weather", {"city": "Oslo", "days": 3}, "abcDEF123")
    kept = analysis.grammar(TOOLS).preserved_tokens
    said = (call.name, call.id, *call.arguments, "Oslo")
    for calls in ((), (call,)):
        message = Message("So.", "Hm.", calls)
        written = analysis.turns(TOOLS).written_turn(message).continuation or ""
        # The end of an answer is not decoded as text.
        for end in analysis.grammar(TOOLS).stop_strings:
            written = written.partition(end)[0]
        found = TemplateLiteral.of(written).markers
        # A marker with a word of the call in it is not a token.
        fixed = [marker for marker in found if not any(word in marker for word in said)]
        assert [marker for marker in fixed if marker not in kept] == []


def test_negated_class_excludes_only_ascii() -> None:
    # xgrammar 0.2.7, which SGLang pins, cannot compile `[^\u1680]`.
    assert character_class(CodePoints.among("a").inverse()) == "[^a]"
    written = character_class(CodePoints.among("a\u1680").inverse())
    assert written.startswith("[\\x00-`b-")
    assert "\u1680" not in written


@pytest.mark.parametrize("begin", ["-x", "_x", "x "])
def test_header_cannot_continue_the_tool_name(begin: str) -> None:
    text = NATIVE.replace(" <|constrain|>", begin)
    assert not analysis_of(HEADERS).grammar(TOOLS).accepts(text).accepted


def test_end_token_is_refused_in_headers() -> None:
    grammar = analysis_of(HEADERS).grammar(TOOLS)
    known = tokenizer_of(byte_tokenizer((*grammar.preserved_tokens, "<|constrain|>")), eos=EOS)
    found = grammar.accepts(NATIVE.replace("<|constrain|>", EOS), known)
    assert (found.accepted, found.refused) == (False, EOS)


def test_auto_refuses_stray_closers_and_unfilled_openers() -> None:
    # A closer that nothing opened is stray, and an opener without a call is malformed.
    for name, text in (
        ("content-wrapped-with-reasoning", f"Look.</answer>{TAGGED.replace('tool_call', 'use')}"),
        ("a7-2-typed-arguments", "So.<|close|>think<|sep|><|open|>tools<|sep|>Look."),
    ):
        assert not analysis_of(name).grammar(TOOLS).accepts(text).accepted


def test_whitespace_before_every_row_is_optional() -> None:
    grammar = analysis_of("j1-4-compact").grammar(TOOLS)
    for dialect in GrammarDialect:
        for space in ("", " "):
            text = f"{space}<thinking>So.</thinking>Look."
            assert grammar.accepts(text, dialect=dialect).accepted
