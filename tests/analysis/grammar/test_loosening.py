"""Schemas that a grammar cannot hold: left out and listed, or one error for all of them.

The tools are of the kind that published servers offer: a pattern with bounds that llguidance gives
up on beside a condition that no grammar says.
"""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.call_writer import CallWriter
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import StrictSchemaError, log_loosening
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from tests.analysis.parsing.loop import analysis_of

XML, HERMES = "a1-function-parameter", "j1-json-in-tags"
CLOSED: dict[str, Json] = {"additionalProperties": False}
DOMAIN = "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$"
FORMS = pytest.mark.parametrize("form", ["lark", "gbnf", "structural_tag"])


def tool(name: str, properties: dict[str, Json], **said: Any) -> dict[str, Any]:
    """Offer a tool all of whose parameters are required."""
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "parameters": parameters, **said}}


CRAWL: Json = {"type": "array", "items": {"type": "string", "pattern": DOMAIN, "maxLength": 253}}
GOOD = tool("look", {"city": {"type": "string"}})
HARD = tool("crawl", {"domains": CRAWL, "never": {"type": "string", "not": {"const": "x"}}})


def write(grammar: Grammar, form: str) -> object:
    """Write a grammar in one of its forms."""
    return grammar.lark(OpaqueTokens()) if form == "lark" else getattr(grammar, form)()


@FORMS
@pytest.mark.parametrize("style", [XML, HERMES])
def test_tools_that_are_not_strict_are_written_without_what_cannot_be_held(
    form: Any, style: str
) -> None:
    grammar = analysis_of(style).grammar([GOOD, HARD], tool_choice="required")
    assert write(grammar, form)
    found = grammar.loosened(form)
    assert {each.tool for each in found} == {"crawl"}
    assert "#/properties/never/not" in {each.pointer for each in found}
    assert found == analysis_of(style).grammar([GOOD, HARD], tool_choice="required").loosened(form)


@FORMS
@pytest.mark.parametrize("style", [XML, HERMES])
def test_tools_with_the_same_schema_are_all_found_and_others_are_not_tried_alone(
    form: Any, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    each_call = CallWriter.each

    def each(writer: CallWriter, *, first: bool) -> Any:
        tried.append(len(writer.tools))
        return each_call(writer, first=first)

    monkeypatch.setattr(CallWriter, "each", each)
    never: dict[str, Json] = {
        "never": {"type": "array", "items": {"type": "string", "not": {"const": "y"}}}
    }
    good = [tool(f"look_{at}", {"city": {"type": "string"}}) for at in range(14)]
    grammar = analysis_of(style).grammar([tool("one", never), *good, tool("two", never)])
    assert write(grammar, form)
    assert [each.tool for each in grammar.loosened(form)] == ["one", "two"]
    if form == "lark":
        assert set(tried) == {16, 1}


def test_a_strict_tool_is_an_error_that_lists_every_keyword_at_once() -> None:
    strict = tool("crawl", HARD["function"]["parameters"]["properties"], strict=True)
    with pytest.raises(StrictSchemaError) as raised:
        analysis_of(XML).grammar([GOOD, strict]).lark(OpaqueTokens())
    words = str(raised.value)
    assert words.startswith("the parameters of crawl, #/properties/")
    assert "#/properties/domains/items/maxLength" in words
    assert "#/properties/never/not" in words
    assert words.count("--loosen") == 1


def test_loosen_false_holds_every_tool_to_its_schema_or_fails() -> None:
    with pytest.raises(StrictSchemaError, match="the parameters of crawl"):
        analysis_of(HERMES).grammar([GOOD, HARD], loosen=False).lark(OpaqueTokens())


def test_loosen_true_leaves_keywords_of_strict_tools_out_too() -> None:
    strict = tool("crawl", HARD["function"]["parameters"]["properties"], strict=True)
    grammar = analysis_of(HERMES).grammar([strict], loosen=True)
    assert grammar.lark(OpaqueTokens())
    assert grammar.loosened("lark")


def test_of_many_tools_the_few_that_are_refused_are_found() -> None:
    tools = [tool(f"look{at}", {"city": {"type": "string"}}) for at in range(20)]
    tools[7]["function"]["parameters"]["properties"]["city"] = {"not": {"const": 1}}
    grammar = analysis_of(XML).grammar(tools)
    assert [each.tool for each in grammar.loosened("gbnf")] == ["look7"]


def test_what_is_not_held_to_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log_loosening.cache_clear()
    unlike: Json = {"type": "array", "uniqueItems": True}
    sets = tool("sets", {"a": unlike, "b": unlike, "\n": {"type": "string", "not": {"const": "x"}}})
    for tools in ([sets], [sets], [GOOD], [GOOD, HARD]):
        log_loosening(analysis_of(HERMES).grammar(tools).loosened("gbnf"))
    first, second = caplog.messages
    assert "the parameters of sets, #/properties/a/uniqueItems and 1 more (uniqueItems" in first
    assert "the parameters of sets, #/properties/\\n/not (not " in first
    assert "the parameters of crawl, #/properties/never/not (not " in second


def test_a_union_that_gbnf_cannot_tell_apart_is_left_out() -> None:
    options: list[Json] = [
        {"type": "object", "properties": {"a": {"type": kind}}, "required": ["a"], **CLOSED}
        for kind in ("string", "integer")
    ]
    union: Json = {"type": "object", "oneOf": options}
    offered: dict[str, Any] = {"type": "function", "function": {"name": "f", "parameters": union}}
    grammar = analysis_of(XML).grammar([offered])
    assert grammar.gbnf()
    assert "#/oneOf" in {each.pointer for each in grammar.loosened("gbnf")}
    strict = {"type": "function", "function": {**offered["function"], "strict": True}}
    with pytest.raises(StrictSchemaError, match="the parameters of f"):
        analysis_of(XML).grammar([strict]).gbnf()


@FORMS
@pytest.mark.parametrize("style", [XML, HERMES, "a2-key-value-tags"])
def test_a_text_that_is_not_empty_or_null_is_held_everywhere(form: Any, style: str) -> None:
    either: list[Json] = [{"type": "string", "minLength": 1}, {"type": "null"}]
    offered = tool("note", {"note": {"anyOf": either}, "mark": {"oneOf": either}})
    grammar = analysis_of(style).grammar([offered], tool_choice="required")
    assert write(grammar, form)
    assert grammar.loosened(form) == ()


@FORMS
@pytest.mark.parametrize("style", ["p1-python-lines", "a7-token-pairs", XML, HERMES])
def test_a_length_that_llguidance_gives_up_on_is_left_out_and_texts_are_taken(
    form: Any, style: str
) -> None:
    domain: Json = {"type": "string", "pattern": DOMAIN, "maxLength": 253}
    analysis = analysis_of(style)
    grammar = analysis.grammar(
        [tool("crawl", {"domain": domain, "domains": {"type": "array", "items": domain}})]
    )
    assert write(grammar, form)
    assert {each.pointer for each in grammar.loosened(form)} == {
        "#/properties/domain/maxLength",
        "#/properties/domains/items/maxLength",
    }
    if form != "structural_tag":
        arguments: dict[str, Json] = {"domain": "a.bc", "domains": ["docs.a.bc", "x1.yz"]}
        calls = (ToolCall("crawl", arguments, "abcDEF123"),)
        text = analysis.turns([]).written(Message(calls=calls)).rest
        assert grammar.accepts(text, dialect=GrammarDialect(form)).accepted, text
