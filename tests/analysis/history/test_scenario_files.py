"""Scenarios from YAML: shipped ones, a person's own, and malformed files."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from autoparser.analysis.core.conversation import Message, ToolResult, UserMessage
from autoparser.analysis.history.scenario_files import (
    SHIPPED,
    ScenarioError,
    scenarios_of,
    shipped_scenarios,
)
from autoparser.analysis.history.scenarios import (
    PROFILES,
    Answers,
    ArgumentsAs,
    BesideCalls,
    EngineHabits,
    Ids,
    Next,
    UnreadCalls,
)
from autoparser.analysis.history.turn_variations import VARIATIONS

from .renderers import read_cases

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
    engine:
      {arguments: string, ids: made, malformed: dropped, reasoning: stripped, json: rewritten,
       field: thought, beside_calls: dropped}
tools:
  - {name: look, parameters: {type: object}}
"""


def test_every_key_of_a_scenario_file_is_read() -> None:
    (mine,) = scenarios_of(yaml.safe_load(OWN), "own.yaml")
    assert (mine.name, mine.about, mine.silent) == ("mine", "One of my own.", True)
    user, called, answer = mine.history
    assert user == UserMessage("Well?")
    assert isinstance(called, Message)
    assert (called.reasoning, called.calls[0].arguments) == ("Hm.", {"at": 1})
    assert answer == ToolResult("nothing", "look", "abc")
    assert mine.message.content == "No."
    assert mine.variations == ("compact-json", "newline-before-calls")
    assert (mine.next, mine.answers) == ((Next.TOOL, Next.LATER), Answers.REVERSED)
    assert mine.engine == EngineHabits(
        arguments=ArgumentsAs.STRING,
        ids=Ids.MADE,
        malformed=UnreadCalls.DROPPED,
        reasoning="stripped",
        json="rewritten",
        reasoning_fields=("thought",),
        beside_calls=BesideCalls.DROPPED,
    )
    assert [tool["name"] for tool in mine.tools] == ["look"]


def test_scenario_list_uses_shipped_tools_or_none() -> None:
    text, bare = scenarios_of(
        [
            {"name": "text", "sampled": "text", "cut": True, "engine": "sglang"},
            {"name": "bare", "sampled": "text", "tools": False},
        ],
        "own.yaml",
    )
    assert (text.sampled, text.cut, text.next) == ("text", True, (Next.USER,))
    assert text.engine == PROFILES["sglang"].engine
    assert (text.tools, bare.tools) == (shipped_scenarios()[0].tools, ())


@pytest.mark.parametrize(
    "case", read_cases("wrong_scenarios.yaml"), ids=lambda case: f"{case['place']} {case['hint']}"
)
def test_invalid_scenario_file_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenarios_of(case["file"], "own.yaml")
    error = raised.value
    assert (error.file, error.place) == ("own.yaml", case["place"] or None)
    assert case["hint"] in (error.hint or "")
    assert "\n" not in str(error)


def test_shipped_scenarios_are_valid() -> None:
    scenarios = shipped_scenarios()
    # Their tools are not checked when they are read; here they are.
    assert scenarios_of(yaml.safe_load(SHIPPED.read_text("utf-8")), SHIPPED.name) == scenarios
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    assert {name for scenario in scenarios for name in scenario.variations} == set(VARIATIONS)
