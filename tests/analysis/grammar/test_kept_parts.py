"""Check that the Lark rules of a tool are cached across tool lists."""

from __future__ import annotations

import os
import subprocess
import sys
from copy import deepcopy
from typing import Any

import pytest

from autoparser import Example, Json, Message, OpaqueTokens, ToolCall, learn
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.grammar import schema_survey
from autoparser.analysis.grammar.call_writer import CallWriter
from autoparser.analysis.grammar.grammar_rules import text_mark
from autoparser.analysis.grammar.lark_writer import _LarkWriter
from autoparser.analysis.grammar.request_grammar import make_grammar
from tests.analysis.parsing.loop import analysis_of
from tests.offers import tool

ALL_TEXT = OpaqueTokens()
NODE: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "additionalProperties": False,
}


def offered(name: str, **more: Json) -> dict[str, Any]:
    """Return a tool of a text and a list, and of more parameters."""
    properties = {
        "text": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    return tool(name, {**properties, **more}, "text")


# In the first, arguments are JSON; in the last, lists are rules that refer to themselves.
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "p1-4-unquoted"])
def test_tool_is_written_once_for_all_lists(name: str, recorded: Any) -> None:
    made, written = recorded(CallWriter, "tool_paths"), recorded(_LarkWriter, "take_part")
    formats = Formats.of(deepcopy(analysis_of(name).format))
    tools = [offered(f"tool_{at}") for at in range(6)]
    for some in (tools[:3], tools[2::-1], tools[1:5], deepcopy(tools[::-1])):
        make_grammar(formats, some).lark(ALL_TEXT)
    known = [f"tool_{at}" for at in range(6)]
    assert sorted(made_name for _, made_name, *_ in made) == known
    assert sorted(part.tool for _, part in written if part.tool) == known


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "p1-4-unquoted"])
def test_schema_keywords_are_walked_once(
    name: str, recorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_survey, "_WORDS", type(schema_survey._WORDS)(100))
    walked = recorded(schema_survey, "_plain_words")
    formats = Formats.of(deepcopy(analysis_of(name).format))
    counts: list[dict[str, Json]] = [{f"count_{at}": {"type": "integer"}} for at in range(20)]
    tools = [offered(f"tool_{at}", **counts[at]) for at in range(20)]
    make_grammar(formats, tools).lark(ALL_TEXT)
    assert len(walked) == len({*map(repr, walked)}) >= len(tools)


def test_call_header_words_are_written_once_for_all_tools(recorded: Any) -> None:
    formats = Formats.of(deepcopy(analysis_of("t2-recipient-header").format))
    written = recorded(_LarkWriter, "free_text")
    counts: list[int] = []
    for size in (1, 4, 12):
        written.clear()
        assert make_grammar(formats, [offered(f"tool_{at}") for at in range(size)]).lark(ALL_TEXT)
        counts.append(len(written))
    assert counts[1] == counts[2]
    assert counts[1] <= counts[0] + 2


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_refused_keyword_rewrites_only_its_tool(name: str, recorded: Any) -> None:
    calls = recorded(CallWriter, "tool_paths")
    formats = Formats.of(deepcopy(analysis_of(name).format))
    unique: Json = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    tools = [*(offered(f"tool_{at}") for at in range(6)), offered("refused", numbers=unique)]
    grammar = make_grammar(formats, tools)
    assert [loosening.tool for loosening in grammar.loosened("lark")] == ["refused"]
    made = [made_name for _, made_name, *_ in calls]
    assert sorted(set(made)) == sorted(grammar.tools)
    assert len(made) - made.count("refused") == 6


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "p1-4-unquoted"])
def test_descriptions_change_no_grammar(name: str) -> None:
    texts: dict[str, Json] = {"type": "string"}
    described: Json = {**texts, "title": "A", "description": "Some text.", "default": "a"}
    # The members of these names stay.
    bare, full = (
        tool("f", {"description": text, "default": {"type": "array", "items": text}}, "default")
        for text in (texts, described)
    )
    format_ = Formats.of(analysis_of(name).format)
    written, other = (make_grammar(format_, [one]) for one in (bare, full))
    assert written.lark(ALL_TEXT) == other.lark(ALL_TEXT)
    assert written.gbnf() == other.gbnf()
    assert "description" in other.lark(ALL_TEXT)


@pytest.mark.parametrize("name", ["a6-key-is-tag", "p1-4-unquoted"])
def test_similar_tool_names_keep_recursive_rules_apart(name: str) -> None:
    """Such a rule keeps its own name, which no other tool may have."""
    formats = Formats.of(deepcopy(analysis_of(name).format))
    tools = [offered(name, tree={"$ref": "#/$defs/node"}) for name in ("get_it", "get-it")]
    for offer, kind in zip(tools, ("integer", "boolean"), strict=True):
        node = deepcopy(NODE)
        node["properties"]["name"] = {"type": kind}  # type: ignore[call-overload,index]
        offer["function"]["parameters"]["$defs"] = {"node": node}
    both, *alone = (make_grammar(formats, some) for some in (tools, tools[:1], tools[1:]))
    own = [
        {line.partition(":")[0] for line in grammar.lark(ALL_TEXT).splitlines() if ":" in line}
        for grammar in alone
    ]
    whole = both.lark(ALL_TEXT)
    names = [line.partition(":")[0] for line in whole.splitlines() if ":" in line]
    assert len(names) == len(set(names)), "no rule is written twice"
    recursive = [{line for line in lines if line.startswith("r_get_it")} for lines in own]
    assert recursive[0]
    assert recursive[1]
    assert recursive[0].isdisjoint(recursive[1])
    assert recursive[0] | recursive[1] <= set(names)


def test_grammar_of_two_formats_allows_both_calls() -> None:
    compact = '<tool_call>\n{"name":"look","arguments":{"text":"%s","count":%d}}\n</tool_call>'
    spaced = '<tool_call>\n{"name": "look", "arguments": {"text": "Rio", "count": 3}}\n</tool_call>'
    examples = [
        Example(
            compact % (text, count),
            Message(calls=(ToolCall("look", {"text": text, "count": count}),)),
        )
        for text, count in (("Oslo", 3), ("Bergen", 4))
    ]
    learned = learn(analysis_of("j1-json-in-tags"), examples).analysis
    grammar = learned.grammar([offered("look", count={"type": "integer"})], tool_choice="required")
    assert grammar.accepts(spaced).accepted
    assert grammar.accepts(compact % ("Rio", 3)).accepted


def test_lone_surrogate_gives_its_own_rule_name() -> None:
    assert text_mark("a\ud800") != text_mark("a?")


LARK_OF_REFUSED_KINDS = """
from msgspec.structs import replace
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.grammar.request_grammar import make_grammar
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from tests.analysis.parsing.loop import analysis_of
from tests.offers import tool

known = analysis_of("a1-function-parameter").format
refused = frozenset({JsonType.ARRAY, JsonType.OBJECT, JsonType.NUMBER, JsonType.INTEGER})
calls = replace(known.calls, arguments=replace(known.calls.arguments, refused=refused))
offered = [tool("note", {"text": {"type": "string"}})]
made = make_grammar(Formats.of(replace(known, calls=calls)), offered)
print(made.lark(OpaqueTokens()))
"""


def test_rule_names_do_not_depend_on_the_hash_seed() -> None:
    def written(seed: str) -> str:
        return subprocess.run(  # noqa: S603 - this Python and a text of this file
            [sys.executable, "-c", LARK_OF_REFUSED_KINDS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    first, *others = map(written, "123")
    assert "_member_" in first
    assert set(others) == {first}


def test_members_with_made_up_names_are_one_rule_of_a_sorted_object() -> None:
    formats = Formats.of(analysis_of("g1-pseudo-json").format)

    def rules(count: int) -> int:
        names = [f"name_{at:02}" for at in range(count)]
        offers = [tool("look_up", {key: {"type": "string"} for key in names}, *names)]
        return make_grammar(formats, offers).lark(ALL_TEXT).count("\n")

    # A named member is up to three rules; the value of a member before it is written once.
    assert rules(30) - rules(10) <= 3 * 20
