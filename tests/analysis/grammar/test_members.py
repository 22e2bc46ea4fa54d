"""The members of an object, in notations where each stands between texts of its own.

Of those that a schema does not name, every notation takes the same. So does every form, but that a
tag takes none where the schema says nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from autoparser import Grammar, Json, Message, ToolCall, TurnFormat
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.member_rows import begins_as_text, writes_key_twice
from autoparser.analysis.grammar.schema_loosening import StrictSchemaError
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.corpus.grammar_readers import read_by_xgrammar

from .proofs import Load, grammar_for, in_gbnf, in_lark, refusal, request_for, turn_without_end

pytestmark = pytest.mark.slow

XML = "a1-function-parameter"
WHOLE: Json = {"type": "integer"}
TABLE: dict[str, tuple[dict[str, Json], bool, bool]] = {
    "nothing": ({}, True, True),
    "true": ({"additionalProperties": True}, True, True),
    "false": ({"additionalProperties": False}, False, False),
    "a schema": ({"additionalProperties": WHOLE}, True, False),
}
"""A schema's `additionalProperties`, and whether it allows a number and a text."""
OTHERS: dict[str, Json] = {"number": 7, "text": "Oslo"}


def tool(said: dict[str, Json]) -> dict[str, Any]:
    """Offer a tool whose arguments hold an object; both say the same of other members."""
    inner = {"type": "object", "properties": {"x": WHOLE}, **said}
    parameters = {"type": "object", "properties": {"b": WHOLE, "o": inner}, "required": ["b"]}
    return {"type": "function", "function": {"name": "f", "parameters": {**parameters, **said}}}


def calls() -> dict[tuple[str, str], dict[str, Json]]:
    """Return arguments with another member of each type, at the top and within."""
    found: dict[tuple[str, str], dict[str, Json]] = {}
    for kind, value in OTHERS.items():
        found["top", kind] = {"b": 1, "zip": value}
        found["inner", kind] = {"b": 1, "o": {"x": 2, "zip": value}}
    return found


def written(format_: TurnFormat, arguments: dict[str, Json]) -> str:
    message = Message(calls=(ToolCall("f", arguments, "abcDEF123"),))
    return turn_without_end(format_, message)


def by(load: Load) -> Callable[[Grammar], Callable[[str], bool]]:
    def loaded(grammar: Grammar) -> Callable[[str], bool]:
        state = load(grammar)
        return lambda text: not refusal(state, text)

    return loaded


def in_tag(grammar: Grammar) -> Callable[[str], bool]:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    return read_by_xgrammar(grammar.structural_tag())


def called() -> dict[str, TurnFormat]:
    """Return the fixtures whose turns hold calls with arguments that no string holds."""
    known = {name: analysis_of(name).format for name in fixture_names()}
    return {
        name: format_
        for name, format_ in known.items()
        if format_.calls is not None
        and not format_.calls.arguments.encoded
        and "zip" in written(format_, {"zip": 1})
    }


def names_begin_as_text(format_: TurnFormat) -> bool:
    return format_.calls is not None and begins_as_text(format_.calls.arguments.members)


def names_stand_twice(format_: TurnFormat) -> bool:
    return format_.calls is not None and writes_key_twice(format_.calls.arguments.members)


FORMS = pytest.mark.parametrize("load", [by(in_lark()), by(in_gbnf), in_tag])


@FORMS
@pytest.mark.parametrize("said", TABLE)
def test_additional_members_are_equal_in_every_notation(load: Any, said: str) -> None:
    more, number, text = TABLE[said]
    if load is in_tag and not more:
        # Distinguishing other names from declared ones is too expensive in xgrammar.
        number = text = False
    wrong: list[tuple[str, tuple[str, str]]] = []
    known = {name: form for name, form in called().items() if not names_stand_twice(form)}
    for name, format_ in known.items():
        is_closed = said == "nothing" and names_begin_as_text(format_)
        turn = written(format_, {"b": 1})
        request, begun = request_for(format_, turn, [tool(more)])
        takes = load(grammar_for(format_, request))
        if not takes(turn[begun:]):
            wrong.append((name, ("", "none")))
        for case, arguments in calls().items():
            expected = {"number": number, "text": text}[case[1]]
            # Nested values are JSON in these formats.
            expected = expected and not (is_closed and case[0] == "top")
            if takes(written(format_, arguments)[begun:]) is not expected:
                wrong.append((name, case))
    assert known
    assert wrong == []


@FORMS
def test_doubled_names_are_declared_unless_a_schema_opens_the_object(load: Any) -> None:
    known = [form for form in called().values() if names_stand_twice(form)]
    assert known
    for format_ in known:
        turn = written(format_, {"b": 1})
        request, begun = request_for(format_, turn, [tool({})])
        takes = load(grammar_for(format_, request))
        assert takes(turn[begun:])
        assert not any(takes(written(format_, call)[begun:]) for call in calls().values())
        request, _ = request_for(format_, turn, [tool({"additionalProperties": True})])
        with pytest.raises(StrictSchemaError, match="#/additionalProperties"):
            load(grammar_for(format_, request))
        loose = load(replace(grammar_for(format_, request), loosen=True))
        assert all(loose(written(format_, call)[begun:]) for call in calls().values())


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("dialect", [*GrammarDialect])
# In the second fixture, the closer of a call does not begin with the members' separator.
@pytest.mark.parametrize("name", [XML, "a1-8-indented"])
def test_tools_that_share_members_require_their_own(
    name: str, dialect: GrammarDialect, is_open: bool
) -> None:
    schemas: dict[str, Any] = {
        tool: {
            "type": "object",
            "properties": dict.fromkeys("abc", WHOLE),
            "required": list(required),
            "additionalProperties": WHOLE if is_open else False,
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


@pytest.mark.parametrize("more", [{"additionalProperties": False}, {}])
def test_hundreds_of_members_are_each_written_once(more: dict[str, Any]) -> None:
    names = [f"member_{at}" for at in range(60 if not more else 400)]
    schema = {"type": "object", "properties": dict.fromkeys(names, WHOLE), **more}
    grammar = analysis_of(XML).grammar(
        [{"name": "f", "parameters": schema}], tool_choice="required"
    )
    members = "".join(f"<parameter={name}>\n1\n</parameter>\n" for name in (names[0], names[-1]))
    text = f"Well.\n</think>\n\n<tool_call>\n<function=f>\n{members}</function>\n</tool_call>"
    assert grammar.accepts(text).accepted
    written = grammar.gbnf()
    assert [name for name in names if written.count(f"parameter={name}>") > 1] == []
