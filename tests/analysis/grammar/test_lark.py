"""Lark for llguidance: added tokens, quick idioms, lists that begin alike, the oldest version.

`tests/ci/test_installs.py` runs these tests with the oldest llguidance that is allowed: engines pin
it, and it knows less.
"""

from __future__ import annotations

import pytest
from llguidance import LLMatcher
from tokenizers import AddedToken

from autoparser import Analysis, ChatTemplate, OpaqueTokens, analyze
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.grammar import lark_writer
from autoparser.analysis.grammar.grammar_rules import (
    FreeProse,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    Node,
    ProseExit,
    RuleReference,
    choice_node,
    sequence_node,
)
from autoparser.analysis.grammar.schema_guidance import ESCAPES, knows_guidance_option
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.analysis.tiny import CONTENT, calls, turn
from tests.offers import STRICT, tool

from .judge import byte_tokenizer, guidance, ids

NEWLINES, NOTHING = EdgeStrip.NEWLINES, EdgeStrip.NOTHING
QWEN = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
ADDED = ("<a>", "<|b|>", "</c d>", "[e]", "⟦f⟧", "｜g｜", "<h>i", "  ")


def test_special_tokens_equal_those_of_llguidance() -> None:
    tokenizer, loaded = byte_tokenizer(ADDED), guidance(ADDED)
    known = tokenizer_of(tokenizer).opaque.ids
    for number, token in tokenizer.get_added_tokens_decoder().items():
        assert (token.content in known) is loaded.is_special_token(number), token.content
    bare = byte_tokenizer(("[of this test]",))
    bare.add_special_tokens([AddedToken("[SPECIAL]", special=True)])
    assert "[SPECIAL]" in tokenizer_of(bare).opaque.ids


@pytest.mark.parametrize("added", [QWEN, QWEN[1:], ()])
def test_marker_token_is_masked_until_its_leading_whitespace(added: tuple[str, ...]) -> None:
    tokenizer = byte_tokenizer(added)
    grammar = analysis_of("j1-json-in-tags").grammar(STRICT, tool_choice="required")
    text = grammar.lark(tokenizer)
    assert added != QWEN or [token for token in added if token in text] == []
    matcher = LLMatcher(guidance(added), LLMatcher.grammar_from_lark(text))
    assert not matcher.is_error(), matcher.get_error()
    if added:
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


def test_list_that_begins_like_its_outer_list_is_accepted() -> None:
    parameters = {"type": "object", "properties": {"o": {"type": "array"}}}
    tool = {"name": "f", "parameters": {**parameters, "additionalProperties": False}}
    grammar = analyze(NESTED).grammar([tool])
    for value in ([], ["x"], [["x"], "y"], [[["x"]], [["y", 1]], True], ["]~[ <b>"]):
        call = {"type": "function", "function": {"name": "f", "arguments": {"o": value}}}
        written = NESTED.render([{"role": "assistant", "content": "", "tool_calls": [call]}])
        answer = written.removeprefix("A:").removesuffix(".\n")
        assert grammar.accepts(answer).accepted, answer
        assert not grammar.accepts(answer.replace("</o>", "</p>")).accepted


def test_values_before_the_same_rule_share_one_reference() -> None:
    again, values = RuleReference("again"), ("1", "null", "[]")
    options: list[Node] = [sequence_node(LiteralNode(f"{value},"), again) for value in values]
    options += [LiteralNode(f"{value}]") for value in values]
    rules = GrammarRules(again, {"again": choice_node(*options)})
    lark = lark_writer.write_lark(rules, OpaqueTokens()).text
    # The root, the rule and the one reference in it.
    assert lark.count("r_again") == 3
    matcher = LLMatcher(guidance(()), LLMatcher.grammar_from_lark(lark))
    assert not matcher.is_error(), matcher.get_error()
    tokenizer = byte_tokenizer(())
    for text in ("1]", "null,[],1]", "[],null]", "1,]", "1", "[]]1]"):
        tokens, fresh = ids(tokenizer, text), matcher.deep_copy()
        is_whole = fresh.try_consume_tokens(tokens) == len(tokens) and fresh.is_accepting()
        assert is_whole is (text in ("1]", "null,[],1]", "[],null]")), text


@pytest.mark.parametrize(
    ("edges", "begun", "accepted"),
    [
        ((NEWLINES, NOTHING), "/[^\\n]+(?s:.*)/", {"\na": False, "a\n": True, "a\nb": True}),
        ((NOTHING, NEWLINES), "/(?s:.*)[^\\n]/", {"\na": True, "a\n": False, "a\nb": True}),
        ((NEWLINES, NEWLINES), "/[^\\n]+(?:(?s:.*)[^\\n])?/", {"\na": False, "a\n": False}),
    ],
)
def test_stripped_text_begins_with_a_repeated_class(
    edges: tuple[EdgeStrip, EdgeStrip], begun: str, accepted: dict[str, bool]
) -> None:
    """With one first character llguidance finds no slice for the first mask of the text."""
    prose = FreeProse(left=edges[0], right=edges[1])
    rules = GrammarRules(FreeTextNode((ProseExit(prose, "", sequence_node()),)), {})
    written = lark_writer.write_lark(rules, OpaqueTokens()).text
    assert begun in written
    for text, expected in accepted.items():
        matcher = LLMatcher(guidance(), LLMatcher.grammar_from_lark(written))
        tokens = ids(byte_tokenizer(), text)
        taken = matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()
        assert taken is expected, text


ESCAPING = turn(
    CONTENT,
    "{% for c in m.tool_calls or [] %}<call>{{ {'name': c.function.name, 'arguments':"
    " c.function.arguments}|tojson(ensure_ascii=true) }}</call>{% endfor %}",
    end="<|end|>",
)
"""A template that writes `ä` as `\\u00e4`."""
FIXTURES = ("j1-json-in-tags", "a1-function-parameter", "a2-key-value-tags", "t3-fenced-json")


def lark_of(analysis: Analysis, name: str = "get_weather") -> str:
    """Return the grammar of a required call, which llguidance takes."""
    offered = tool(name, {"city": {"type": "string", "pattern": "^.{1,20}$"}}, "city")
    text = analysis.grammar([offered], tool_choice="required").lark(byte_tokenizer())
    failed, messages = LLMatcher.validate_grammar_with_warnings(LLMatcher.grammar_from_lark(text))
    assert not failed, messages
    return text


@pytest.mark.parametrize("name", FIXTURES)
def test_installed_llguidance_compiles_fixture_grammars(name: str) -> None:
    assert lark_of(analysis_of(name))


def test_unknown_llguidance_option_is_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    escaping = analyze(ESCAPING)
    assert escaping.ok or not knows_guidance_option(ESCAPES)
    assert (ESCAPES in lark_of(escaping)) is knows_guidance_option(ESCAPES)
    assert not knows_guidance_option("an_option_that_no_version_has")
    monkeypatch.setattr(lark_writer, "knows_guidance_option", lambda _: False)
    # Grammars are cached: this one is new.
    text = lark_of(escaping, "other")
    assert ESCAPES not in text
    assert '"x-guidance"' in text
