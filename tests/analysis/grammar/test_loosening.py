"""Check schemas that a grammar cannot enforce: dropped and listed, or one error for all.

The tools are of the kind that published servers offer: a pattern with bounds that llguidance gives
up on beside a condition that no grammar says.
"""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import Grammar, Json, OpaqueTokens
from autoparser.analysis.grammar import gbnf_schemas, request_grammar, schema_loosening
from autoparser.analysis.grammar.schema_guidance import _guidance_schema
from autoparser.analysis.grammar.schema_loosening import StrictSchemaError, log_loosening
from tests.analysis.parsing.loop import analysis_of
from tests.lanes import sampled
from tests.offers import tool

XML, HERMES = "a1-function-parameter", "j1-json-in-tags"
DOMAIN = "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$"
FORMS = pytest.mark.parametrize("form", ["lark", "gbnf", "structural_tag"])
NEVER: Json = {"type": "string", "not": {"const": "x"}}
ONCE: Json = {"type": "string", "not": {"const": "x"}, "title": "in one test alone"}


TEXT: Json = {"type": "string", "pattern": DOMAIN, "maxLength": 253}
CRAWL: dict[str, Json] = {"domain": TEXT, "domains": {"type": "array", "items": TEXT}}
GOOD = tool("look", {"city": {"type": "string"}}, "city")
HARD = tool("crawl", {**CRAWL, "never": NEVER}, *CRAWL, "never")
STRICT = tool("crawl", {**CRAWL, "never": NEVER}, *CRAWL, "never", strict=True)


def write(grammar: Grammar, form: str) -> object:
    """Write a grammar in one of its forms."""
    return grammar.lark(OpaqueTokens()) if form == "lark" else getattr(grammar, form)()


@FORMS
@pytest.mark.parametrize("style", sampled([HERMES, XML], 2))
def test_non_strict_tools_drop_unsupported_keywords(form: Any, style: str) -> None:
    for _ in range(2):
        grammar = analysis_of(style).grammar([GOOD, HARD], tool_choice="required")
        assert write(grammar, form)
        found = grammar.loosened(form)
        assert {loosening.tool for loosening in found} == {"crawl"}
        assert [loosening.pointer for loosening in found if loosening.keyword == "not"] == [
            "#/properties/never/not"
        ]


@FORMS
@pytest.mark.parametrize("style", sampled([HERMES, XML], 2))
def test_refused_tools_are_found_among_many(form: Any, style: str) -> None:
    inner: dict[str, Json] = {"never": {"type": "array", "items": NEVER}}
    good = [tool(f"look_{at}", {"city": {"type": "string"}}, "city") for at in range(14)]
    grammar = analysis_of(style).grammar(
        [tool("one", inner, "never"), *good, tool("two", inner, "never")]
    )
    assert write(grammar, form)
    assert [loosening.tool for loosening in grammar.loosened(form)] == ["one", "two"]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The schemas of each call of the writer of a grammar."""
    calls: list[Any] = []

    def noted(write: Any, request: Any) -> Any:
        def noting(*schemas: Any) -> Any:
            calls.append(schemas)
            return write(*schemas)

        return schema_loosening.write_loosened(noting, request)

    monkeypatch.setattr(request_grammar, "write_loosened", noted)
    return calls


def test_refused_schema_is_written_once_in_the_next_list(written: list[Any]) -> None:
    counts: list[int] = []
    for number in range(3):
        # Other names, and one more tool in each list.
        offered = [tool(f"new_{at}_{number}", {"a": {"type": "string"}}) for at in range(number)]
        offered.append(tool(f"crawl_{number}", {"never": ONCE}, "never"))
        grammar = analysis_of(HERMES).grammar(offered)
        assert grammar.structural_tag()
        assert [loosening.tool for loosening in grammar.loosened("structural_tag")] == [
            f"crawl_{number}"
        ]
        counts.append(len(written) - sum(counts))
    assert counts[0] > 1
    assert counts[1:] == [1, 1]


@pytest.mark.parametrize("style", [XML, HERMES])
def test_only_the_refused_one_of_many_tools_is_written_alone(
    style: str, written: list[Any]
) -> None:
    long: Json = {"type": "string", "maxLength": 50}
    offered = [tool(f"plain_{number}", {f"a{number}": {"type": "string"}}) for number in range(20)]
    offered.append(tool("crawl", {"note": long, "title": long}))
    assert len(analysis_of(style).grammar(offered).loosened("structural_tag")) == 2
    # The refused tool with and without its keywords, and all of them.
    assert [len(schemas[0]) for schemas in written] == [1, 1, 21]


@pytest.mark.parametrize("style", [XML, HERMES])
def test_refused_lengths_of_one_tool_are_dropped_together(style: str, written: list[Any]) -> None:
    texts: dict[str, Json] = {name: {"type": "array", "items": TEXT} for name in ("in", "out")}
    offered = [tool(f"plain_{number}", {f"b{number}": {"type": "string"}}) for number in range(20)]
    offered.append(tool("crawl", texts))
    assert [one.pointer for one in analysis_of(style).grammar(offered).loosened("lark")] == [
        "#/properties/in/items/maxLength",
        "#/properties/out/items/maxLength",
    ]
    # As it is, without these keywords, and among all tools.
    assert [len(schemas[0]) for schemas in written] == [1, 1, 21]


def test_bounded_texts_of_one_tool_are_enforced_in_part_together(written: list[Any]) -> None:
    texts: dict[str, Json] = {
        name: {"type": "string", "maxLength": 60 + at} for at, name in enumerate("abcde")
    }
    offered = [tool(f"plain_{number}", {f"c{number}": {"type": "string"}}) for number in range(20)]
    offered.append(tool("crawl", texts))
    loosened = analysis_of(XML).grammar(offered).loosened("lark")
    assert [one.pointer for one in loosened] == [f"#/properties/{name}/maxLength" for name in texts]
    assert {one.tool for one in loosened} == {"crawl"}
    # As it is, with places, and among all tools.
    assert [len(schemas[0]) for schemas in written] == [1, 1, 21]
    # A strict tool is enforced in full.
    strict = tool("crawl", texts, strict=True)
    assert analysis_of(XML).grammar([strict]).loosened("lark") == ()


def test_tool_with_lengths_counted_by_llguidance_is_converted_once() -> None:
    counted: Json = {"type": "string", "maxLength": 12345, "title": "in one test alone"}
    offered = [tool(f"counted_{number}", {f"a{number}": {"type": "string"}}) for number in range(9)]
    offered.append(tool("crawl", {"url": {"type": "string", "format": "uri"}, "n": counted}))
    before = _guidance_schema.cache_info().misses
    assert analysis_of(HERMES).grammar(offered).lark(OpaqueTokens())
    assert _guidance_schema.cache_info().misses == before + 1


@pytest.mark.parametrize("form", ["gbnf", "structural_tag"])
@pytest.mark.parametrize("style", [XML, HERMES])
def test_new_list_converts_only_new_schemas(form: str, style: str, recorded: Any) -> None:
    converted = recorded(gbnf_schemas, "_conversion")
    kind = f"{form} {style}"
    tools = [
        tool(f"t{number}", {"of": {"type": "array", "items": {"const": f"{kind} {number}"}}})
        for number in range(9)
    ]
    counts: list[int] = []
    for offered in (tools[:6], tools[3:], tools[::-2]):
        converted.clear()
        assert write(analysis_of(style).grammar(offered), form)
        counts.append(len(converted))
    assert counts == [6, 3, 0]


@FORMS
def test_later_change_of_a_schema_is_written_anew(form: str) -> None:
    value: dict[str, Json] = {"enum": [f"early {form}"]}
    changed, same = [tool("f", {"a": value})], [tool("f", {"a": {**value}})]
    assert f"early {form}" in str(write(analysis_of(HERMES).grammar(changed), form))
    value["enum"] = [f"late {form}"]
    # In another list, so that the text of the whole request is not known.
    assert f"early {form}" in str(write(analysis_of(HERMES).grammar([*same, GOOD]), form))


def test_strict_tool_error_lists_every_keyword() -> None:
    with pytest.raises(StrictSchemaError) as raised:
        analysis_of(XML).grammar([GOOD, STRICT]).lark(OpaqueTokens())
    words = str(raised.value)
    assert words.startswith("the parameters of crawl, #/properties/")
    assert "#/properties/domains/items/maxLength" in words
    assert "#/properties/never/not" in words
    assert words.count("--loosen") == 1


def test_loosen_option_overrides_strict_of_all_tools() -> None:
    with pytest.raises(StrictSchemaError, match="the parameters of crawl"):
        analysis_of(HERMES).grammar([GOOD, HARD], loosen=False).lark(OpaqueTokens())
    grammar = analysis_of(HERMES).grammar([STRICT], loosen=True)
    assert grammar.lark(OpaqueTokens())
    assert grammar.loosened("lark")


def test_dropped_keywords_are_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    log_loosening.cache_clear()
    unlike: Json = {"type": "array", "uniqueItems": True}
    sets = tool("sets", {"a": unlike, "b": unlike, "\n": NEVER}, "a", "b", "\n")
    for tools in ([sets], [sets], [GOOD], [GOOD, HARD]):
        log_loosening(analysis_of(HERMES).grammar(tools).loosened("gbnf"))
    first, second = caplog.messages
    assert "the parameters of sets, #/properties/a/uniqueItems and 1 more (uniqueItems" in first
    assert "the parameters of sets, #/properties/\\n/not (not " in first
    assert "the parameters of crawl, #/properties/never/not (not " in second


@FORMS
@pytest.mark.parametrize("style", sampled([HERMES, XML], 2))
def test_nonempty_or_null_text_is_enforced_where_it_compiles(form: Any, style: str) -> None:
    either: list[Json] = [{"type": "string", "minLength": 1}, {"type": "null"}]
    offered = tool("note", {"note": {"anyOf": either}, "mark": {"oneOf": either}}, "note", "mark")
    grammar = analysis_of(style).grammar([offered], tool_choice="required")
    assert write(grammar, form)
    # Between tags, xgrammar would take seconds to compile it.
    costly = {"minLength"} if (style, form) == (XML, "structural_tag") else set[str]()
    assert {loosening.keyword for loosening in grammar.loosened(form)} == costly
