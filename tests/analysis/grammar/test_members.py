"""The members of an object, in notations where each stands between texts of its own."""

from __future__ import annotations

import itertools
from typing import Any

import jsonschema
import pytest

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.request_grammar import Grammar
from tests.analysis.parsing.loop import analysis_of

XML = "a1-function-parameter"
BOTH = pytest.mark.parametrize("dialect", [*GrammarDialect])


def grammar_for(name: str, names: list[str], required: list[str], **more: Any) -> Grammar:
    properties = {each: {"type": "integer"} for each in names}
    schema = {"type": "object", "properties": properties, "required": required, **more}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    return analysis_of(name).grammar([tool], tool_choice="required")


@pytest.mark.slow
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("dialect", [*GrammarDialect])
# Of the second, what closes a call does not begin with what parts members.
@pytest.mark.parametrize("name", [XML, "a1-8-indented"])
def test_tools_that_share_members_require_their_own(
    name: str, dialect: GrammarDialect, is_open: bool
) -> None:
    schemas: dict[str, Any] = {
        tool: {
            "type": "object",
            "properties": {each: {"type": "integer"} for each in "abc"},
            "required": list(required),
            "additionalProperties": {"type": "integer"} if is_open else False,
        }
        for tool, required in (("f", "b"), ("g", "ac"), ("h", ""))
    }
    tools = [{"name": tool, "parameters": schema} for tool, schema in schemas.items()]
    analysis = analysis_of(name)
    grammar = analysis.grammar(tools, tool_choice="required")
    orders = [row for most in range(4) for row in itertools.permutations("abcz", most)]
    wrong: list[tuple[str, str]] = []
    for (tool, schema), written in itertools.product(schemas.items(), orders):
        members = dict.fromkeys(written, 1)
        answer = analysis.format.write(Message("Well.", calls=(ToolCall(tool, members),)))
        begun = answer[len(analysis.format.openings[0].text) :]
        judge: Any = jsonschema.Draft202012Validator(schema)
        in_order = list(written) == sorted(written)
        is_accepted = grammar.accepts(begun, dialect=dialect).accepted
        if is_accepted is not (judge.is_valid(members) and in_order):
            wrong.append((tool, "".join(written)))
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"additionalProperties": False}, {}])
def test_an_object_may_have_hundreds_of_members_each_written_once(more: dict[str, Any]) -> None:
    names = [f"member_{at}" for at in range(60 if not more else 400)]
    grammar = grammar_for(XML, names, [], **more)
    members = "".join(f"<parameter={name}>\n1\n</parameter>\n" for name in (names[0], names[-1]))
    text = f"Well.\n</think>\n\n<tool_call>\n<function=f>\n{members}</function>\n</tool_call>"
    assert grammar.accepts(text).accepted
    lark = grammar.gbnf()
    assert [name for name in names if lark.count(f"parameter={name}>") > 1] == []
