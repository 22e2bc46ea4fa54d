"""Scenarios from YAML: those of the package, a person's own, and files that are none."""

from __future__ import annotations

from datetime import date

import pytest
import yaml

from autoparser.analysis.core.conversation import Message, ToolResult, UserMessage
from autoparser.analysis.history.scenario_files import (
    SHIPPED,
    ScenarioError,
    scenarios_of,
    shipped_scenarios,
)
from autoparser.analysis.history.scenarios import Answers, ArgumentsAs, Ids, Next, UnreadCalls
from autoparser.analysis.history.turn_variations import VARIATIONS

OWN = """
scenarios:
  - name: mine
    about: One of my own.
    history:
      - {user: "Well?"}
      - {reasoning: "Hm.", calls: [{name: look, arguments: {at: 1}, id: abc}]}
      - {tool: "nothing"}
    message: {reasoning: "", content: "No.", calls: [{name: look}]}
    variation: [compact-json, newline-before-calls]
    next: [tool, later]
    answers: reversed
    engine: {arguments: string, ids: made, malformed: dropped, reasoning: stripped, json: rewritten}
tools:
  - {name: look, parameters: {type: object}}
"""


def test_everything_that_a_file_may_say_is_read() -> None:
    (mine,) = scenarios_of(yaml.safe_load(OWN), "own.yaml")
    assert (mine.name, mine.about, mine.silent) == ("mine", "One of my own.", True)
    user, called, answer = mine.history
    assert user == UserMessage("Well?")
    assert isinstance(called, Message)
    assert (called.reasoning, called.calls[0].arguments) == ("Hm.", {"at": 1})
    assert answer == ToolResult("nothing", "look", "abc")
    assert mine.message.content == "No."
    assert mine.variations == ("compact-json", "newline-before-calls")
    assert mine.next == (Next.TOOL, Next.LATER)
    assert mine.answers is Answers.REVERSED
    engine = mine.engine
    assert (engine.arguments, engine.ids, engine.malformed) == (
        ArgumentsAs.STRING,
        Ids.MADE,
        UnreadCalls.DROPPED,
    )
    assert engine.strips_reasoning
    assert engine.rewrites_json
    assert [tool["name"] for tool in mine.tools] == ["look"]


def test_a_list_alone_is_enough_and_takes_the_packages_tools() -> None:
    (mine,) = scenarios_of([{"name": "mine", "sampled": "text", "cut": True}], "own.yaml")
    assert (mine.sampled, mine.cut, mine.next) == ("text", True, (Next.USER,))
    assert mine.tools == shipped_scenarios()[0].tools


def test_a_scenario_may_offer_no_tools() -> None:
    (mine,) = scenarios_of([{"name": "mine", "sampled": "text", "tools": False}], "own.yaml")
    assert mine.tools == ()


DAY = date(2025, 1, 1)
"""What YAML reads where a person means a text."""

WRONG = [
    ([{"name": "a", "mesage": {}}], "scenarios[0].mesage", "did you mean message?"),
    ({"scenario": []}, "scenario", "did you mean scenarios?"),
    ([], "scenarios", "write a list of them"),
    ("text", "", "write scenarios, tools"),
    (["text"], "scenarios[0]", "write name, about"),
    ([{"message": {}}], "scenarios[0]", "add a name"),
    ([{"name": "a"}], "scenarios[0]", "add message, or sampled"),
    ([{"name": "a", "message": {}, "sampled": "x"}], "scenarios[0]", "leave out message"),
    ([{"name": 1, "message": {}}], "scenarios[0].name", "put it in quotes"),
    ([{"name": "a", "sampled": "x", "cut": 1}], "scenarios[0].cut", ""),
    ([{"name": "a", "message": {}}, {"name": "a", "message": {}}], "scenarios[1].name", "rename"),
    ([{"name": "a", "message": {"content": 1}}], "scenarios[0].message.content", "in quotes"),
    ([{"name": "a", "message": {"call": []}}], "scenarios[0].message.call", "did you mean calls?"),
    ([{"name": "a", "message": {"calls": [{}]}}], "scenarios[0].message.calls[0]", "add the name"),
    (
        [{"name": "a", "message": {"calls": [{"name": "f", "arguments": "{}"}]}}],
        "scenarios[0].message.calls[0].arguments",
        "write {name: value}",
    ),
    (
        [{"name": "a", "message": {}, "variation": "compact"}],
        "scenarios[0].variation",
        "did you mean compact-json?",
    ),
    ([{"name": "a", "message": {}, "next": "users"}], "scenarios[0].next", "did you mean user?"),
    ([{"name": "a", "message": {}, "next": []}], "scenarios[0].next", "write tool, user"),
    ([{"name": "a", "message": {}, "answers": "al"}], "scenarios[0].answers", "did you mean all?"),
    (
        [{"name": "a", "message": {}, "engine": {"argument": "string"}}],
        "scenarios[0].engine.argument",
        "did you mean arguments?",
    ),
    (
        [{"name": "a", "message": {}, "engine": {"reasoning": "strip"}}],
        "scenarios[0].engine.reasoning",
        "did you mean stripped?",
    ),
    (
        [{"name": "a", "message": {}, "history": [{"tool": "x"}]}],
        "scenarios[0].history[0]",
        "put a call before it",
    ),
    (
        [{"name": "a", "message": {}, "history": [{"content": "x"}]}],
        "scenarios[0].history",
        "end it with user or tool",
    ),
    (
        [{"name": "a", "message": {}, "history": [{"user": "x", "content": "y"}]}],
        "scenarios[0].history[0]",
        "make two entries of it",
    ),
    (
        [{"name": "a", "message": {"calls": [{"name": "get_wether"}]}}],
        "scenarios[0].message.calls[0]",
        "did you mean get_weather?",
    ),
    (
        [
            {
                "name": "a",
                "message": {"calls": [{"name": "f", "arguments": {"on": DAY}}]},
            }
        ],
        "scenarios[0].message.calls[0].arguments.on",
        "put it in quotes",
    ),
    (
        [{"name": "a", "message": {"calls": [{"name": "f", "arguments": {"at": [{1: 2}]}}]}}],
        "scenarios[0].message.calls[0].arguments.at[0]",
        "put it in quotes",
    ),
    ([{"name": "", "message": {}}], "scenarios[0].name", "write a name"),
    ({"scenarios": [{"name": "a", "message": {}}], "tools": [1]}, "tools[0]", "write {name"),
    (
        {"scenarios": [{"name": "a", "message": {}}], "tools": [{"name": "f", "params": {}}]},
        "tools[0]",
        "did you mean parameters?",
    ),
    (
        {"scenarios": [{"name": "a", "message": {}}], "tools": [{"name": "f", "parameters": 1}]},
        "tools[0].parameters",
        "expected an object such as",
    ),
]


@pytest.mark.parametrize(("value", "place", "hint"), WRONG)
def test_what_is_wrong_is_said_with_its_place(value: object, place: str, hint: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenarios_of(value, "own.yaml")
    error = raised.value
    assert (error.file, error.place) == ("own.yaml", place or None)
    assert hint in (error.hint or "")
    assert "\n" not in str(error)


def test_the_packages_scenarios_are_as_they_would_be_in_a_persons_file() -> None:
    """Their tools are not checked when they are read; here they are."""
    given: object = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    assert scenarios_of(given, SHIPPED.name) == shipped_scenarios()


def test_the_packages_scenarios_use_every_variation_and_every_choice() -> None:
    scenarios = shipped_scenarios()
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    used = {name for scenario in scenarios for name in scenario.variations}
    assert used == set(VARIATIONS)
    assert {coming for scenario in scenarios for coming in scenario.next} == set(Next)
    assert {scenario.answers for scenario in scenarios} == set(Answers)
    engines = [scenario.engine for scenario in scenarios]
    assert {engine.arguments for engine in engines} == set(ArgumentsAs)
    # What engines do where ids carry names is known of engines alone.
    assert {engine.ids for engine in engines} == set(Ids) - {Ids.NAMED}
    assert {engine.malformed for engine in engines} == set(UnreadCalls)
    assert any(engine.strips_reasoning for engine in engines)
    assert any(engine.rewrites_json for engine in engines)
