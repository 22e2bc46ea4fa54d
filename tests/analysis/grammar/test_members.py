"""The members of an object, in notations where each stands between texts of its own."""

from __future__ import annotations

import itertools
from string import ascii_letters
from typing import Any

import jsonschema
import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar
from tests.analysis.parsing.loop import analysis_of

from .tokens import byte_tokenizer, guidance
from .walks import decoder, gbnf_decoder, refusal

XML = "a1-function-parameter"


def offered(names: list[str], required: list[str], **more: Any) -> Grammar:
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "required": required,
        "additionalProperties": False,
        **more,
    }
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    return analysis_of(XML).grammar([tool], tool_choice="required")


def call(names: list[str]) -> str:
    members = "".join(f"<parameter={name}>\n1\n</parameter>\n" for name in names)
    return f"Well.\n</think>\n\n<tool_call>\n<function=f>\n{members}</function>\n</tool_call>"


@pytest.mark.parametrize("load", [decoder, gbnf_decoder])
@pytest.mark.parametrize(
    ("required", "written", "accepted"),
    [
        ("", "abc", True),
        ("", "b", True),
        ("", "ac", True),
        ("", "ba", False),
        ("", "aa", False),
        ("", "abd", False),
        ("b", "b", True),
        ("b", "abc", True),
        ("b", "ac", False),
        ("ac", "ac", True),
        ("ac", "ab", False),
        ("ac", "bc", False),
    ],
)
def test_members_stand_in_their_order(
    load: Any, required: str, written: str, accepted: bool
) -> None:
    grammar = offered(list("abc"), list(required))
    loaded = load(grammar, byte_tokenizer(), guidance())
    assert (refusal(loaded, call(list(written))) == "") is accepted


ROWS = [
    (decoder, XML, False),
    (decoder, XML, True),
    (gbnf_decoder, XML, False),
    # Of this one, what closes a call does not begin with what parts members.
    (decoder, "a1-8-indented", False),
    (decoder, "a1-8-indented", True),
    (gbnf_decoder, "a1-8-indented", False),
]


@pytest.mark.parametrize(("load", "name", "open_to_others"), ROWS)
def test_tools_that_share_members_require_their_own(
    load: Any, name: str, open_to_others: bool
) -> None:
    schemas: dict[str, Any] = {
        tool: {
            "type": "object",
            "properties": {each: {"type": "integer"} for each in "abc"},
            "required": list(required),
            "additionalProperties": {"type": "integer"} if open_to_others else False,
        }
        for tool, required in (("f", "b"), ("g", "ac"), ("h", ""))
    }
    tools = [
        {"type": "function", "function": {"name": tool, "parameters": schema}}
        for tool, schema in schemas.items()
    ]
    analysis = analysis_of(name)
    loaded = load(analysis.grammar(tools, tool_choice="required"), byte_tokenizer(), guidance())
    orders = [row for most in range(4) for row in itertools.permutations("abcz", most)]
    wrong: list[tuple[str, str]] = []
    for (tool, schema), written in itertools.product(schemas.items(), orders):
        members = dict.fromkeys(written, 1)
        answer = analysis.format.write(Message("Well.", calls=(ToolCall(tool, members),)))
        begun = answer[len(analysis.format.openings[0].text) :]
        judge: Any = jsonschema.Draft202012Validator(schema)
        answers_in_order = list(written) == sorted(written)
        if (refusal(loaded, begun) == "") is not (judge.is_valid(members) and answers_in_order):
            wrong.append((tool, "".join(written)))
    assert wrong == []


@pytest.mark.parametrize(("written", "accepted"), [(["a", "ab"], True), (["ab", "z"], True)])
def test_others_may_follow_where_the_schema_says_so(written: list[str], accepted: bool) -> None:
    grammar = offered(["a", "ab"], [], additionalProperties={"type": "integer"})
    loaded = decoder(grammar, byte_tokenizer(), guidance())
    assert (refusal(loaded, call(written)) == "") is accepted


@pytest.mark.parametrize("more", [{}, {"additionalProperties": {"type": "integer"}}])
def test_an_object_may_have_hundreds_of_members(more: dict[str, Any]) -> None:
    names = [f"member_{at}" for at in range(400 if not more else 60)]
    loaded = decoder(offered(names, [], **more), byte_tokenizer(), guidance())
    assert refusal(loaded, call([names[0], names[-1]])) == ""


def test_a_member_is_written_once() -> None:
    names = [f"member_{at}" for at in range(40)]
    text = offered(names, []).lark(byte_tokenizer())
    assert [name for name in names if text.count(f"<parameter={name}>") > 1] == []


def of_types(types: dict[str, str], required: list[str]) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in types.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": "".join(types), "parameters": schema}}


DROPS = "arguments-null-dropped"
"""A format that writes no member whose value is null."""


@pytest.mark.parametrize("load", [decoder, gbnf_decoder])
def test_what_the_format_never_writes_is_no_member(load: Any) -> None:
    analysis = analysis_of(DROPS)
    tools = [of_types({"a": "integer", "b": "null"}, []), of_types({"c": "null"}, ["c"])]
    loaded = load(analysis.grammar(tools, tool_choice="required"), byte_tokenizer(), guidance())
    row = analysis.format.calls
    assert row is not None
    written = row.write([ToolCall("ab", {"a": 1})])
    assert refusal(loaded, written) == ""
    # Nothing can be left open for the member that never comes, and no call lacks what is required.
    assert refusal(loaded, written[: written.index("1") + 1])
    assert refusal(loaded, row.write([ToolCall("c", {})]))


def test_where_no_tool_can_be_called_it_is_said() -> None:
    grammar = analysis_of(DROPS).grammar([of_types({"c": "null"}, ["c"])])
    with pytest.raises(GrammarError, match="does not write") as caught:
        grammar.lark(byte_tokenizer())
    assert caught.value.place == "c"


SORTS = "g1-pseudo-json"
"""A format that sorts members, so made-up names may stand between those that a schema names."""


@pytest.mark.parametrize("load", [decoder, gbnf_decoder])
@pytest.mark.parametrize(
    ("arguments", "accepted"),
    [
        ("aa:1,bb:1,cc:1", True),
        ("a:1,aa:1,b:1,cc:1,d:1", True),
        ("cc:1", True),
        ("a:1,bb:1", False),
        ("bb:1,aa:1,cc:1", False),
        ("bb:1,cc:1,bb:1", False),
    ],
)
def test_a_sorted_member_goes_on_to_later_ones_and_to_made_up_names(
    load: Any, arguments: str, accepted: bool
) -> None:
    found = load(sorted_members(["aa", "bb", "cc"]), byte_tokenizer(), guidance())
    text = f"<|tool_call>call:f{{{arguments}}}<tool_call|>"
    assert (refusal(found, text) == "") is accepted


def test_a_grammar_of_sorted_members_grows_as_they_do() -> None:
    few, some, many = (
        len(sorted_members([*ascii_letters[:count]]).gbnf()) for count in (6, 12, 24)
    )
    assert many - some <= 2.2 * (some - few)


def sorted_members(names: list[str]) -> Grammar:
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names[-1:]}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    return analysis_of(SORTS).grammar([tool], tool_choice="required")
