"""The messages that known engines make of a conversation, and what becomes of turns by them."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.message_shape import EmptyContent, MessageShape
from autoparser.analysis.history.client_memory import EngineMessages
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenarios import PROFILES, EngineHabits
from autoparser.analysis.history.trip_causes import Cause, Culprit
from tests.analysis.tiny import CONTENT, calls, turn

from .played import shipped

JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')
LOOP = shipped("call in a tool loop").history
SHAPE = MessageShape(reasoning_field="thought", empty_content=EmptyContent.NULL)


def loop(engine: str, *, parts: bool = False) -> list[Any]:
    habits = PROFILES[engine].engine if engine else EngineHabits()
    return [*EngineMessages(SHAPE, habits, parts).conversation(LOOP)]


CALL = {
    "type": "function",
    "function": {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}},
}
KEPT = "A lookup is due."
TURNS: list[tuple[str, bool, dict[str, Any]]] = [
    ("", False, {"content": None, "thought": KEPT}),
    ("vllm", False, {"content": "", "reasoning": KEPT, "reasoning_content": KEPT}),
    ("vllm", True, {"content": [], "reasoning": KEPT, "reasoning_content": KEPT}),
    ("sglang", False, {"content": "", "reasoning_content": KEPT}),
    ("transformers", False, {"content": ""}),
]


@pytest.mark.parametrize(("engine", "parts", "said"), TURNS)
def test_an_earlier_turn_went_through_the_engine(
    engine: str, parts: bool, said: dict[str, Any]
) -> None:
    found = loop(engine, parts=parts)[1]
    (call,) = found.pop("tool_calls")
    assert {key: value for key, value in call.items() if key != "id"} == CALL
    assert found == {"role": "assistant", **said}


def test_a_result_has_no_name_and_its_text_is_one_text() -> None:
    assert loop("")[2]["name"] == "get_weather"
    for engine in PROFILES:
        assert "name" not in loop(engine)[2]
    assert loop("vllm", parts=True)[2]["content"] == loop("")[2]["content"]
    assert loop("vllm", parts=True)[0]["content"] == [
        {"type": "text", "text": "What is the weather in Oslo?"}
    ]


EITHER = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|a|>{{ 'x' * 0 + m.content }}"
    + JSON
    + "<|end|>\n{% else %}{% if m.content is string %}U:{{ m.content }}{% else %}U:"
    "{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|a|>{% endif %}"
)
"""It takes a user's content as parts, and the model's as a text alone."""


@pytest.mark.parametrize("engine", PROFILES)
def test_a_template_that_takes_parts_is_given_them_by_vllm_alone(engine: str) -> None:
    template = analyze(ChatTemplate(EITHER))
    (row,) = round_trip(template, [shipped("answer")], profile=PROFILES[engine]).rows
    if engine == "vllm":
        assert (row.verdict.cause, row.verdict.fault) == (Cause.RAISES, Culprit.ENGINE)
    else:
        assert row.verdict.holds


@pytest.mark.parametrize("engine", PROFILES)
def test_calls_that_are_written_beside_null_alone_are_lost_by_the_template(engine: str) -> None:
    either = "{% if m.content is none %}" + JSON + "{% else %}" + CONTENT + "{% endif %}"
    template = analyze(turn(either, opening="<|a|>", end="<|end|>\n", prompt="<|a|>"))
    scenario = shipped("tool call")
    held = round_trip(template, [scenario]).rows
    rows = round_trip(template, [scenario], profile=PROFILES[engine]).rows
    assert [row.verdict.holds for row in held] == [True] * 3
    assert {row.verdict.fault for row in rows} == {Culprit.TEMPLATE}


@pytest.mark.parametrize("engine", PROFILES)
def test_arguments_written_backwards_as_an_object_are_the_fault_of_the_template(
    engine: str,
) -> None:
    backwards = "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{"
    backwards += " c.function.arguments if c.function.arguments is string"
    backwards += " else c.function.arguments | tojson | reverse }}</call>{% endfor %}"
    template = analyze(turn(CONTENT + backwards, opening="<|a|>", end="<|end|>\n", prompt="<|a|>"))
    assert all(row.verdict.holds for row in round_trip(template, [shipped("tool call")]).rows)
    rows = round_trip(template, [shipped("tool call")], profile=PROFILES[engine]).rows
    assert {row.verdict.fault for row in rows} == {Culprit.TEMPLATE}
