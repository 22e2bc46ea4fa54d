"""What the model is taken to have written after each kind of prompt, and its variations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoparser import analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_verdict import Outcome
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

from .played import fixture, rows, shipped, verdict

CALL = (
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
)
TAGS = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n"
    "3\n</parameter>\n</function>\n</tool_call>"
)
THOUGHT = "The user wants the weather."
SAID = "It is sunny in Oslo."

WRITTEN: list[tuple[str, str, dict[str, Json], str]] = [
    # fixture, scenario, switches, what is sampled
    ("j1-json-in-tags", "answer", {}, f"{SAID}<|im_end|>"),
    (
        "j1-json-in-tags",
        "reasoning + answer",
        {},
        f"<think>\n{THOUGHT}\n</think>\n\n{SAID}<|im_end|>",
    ),
    ("j1-json-in-tags", "tool call", {}, f"{CALL}<|im_end|>"),
    ("j1-json-in-tags", "answer", {"enable_thinking": False}, f"{SAID}<|im_end|>"),
    (
        "a1-function-parameter",
        "reasoning + answer",
        {},
        f"{THOUGHT}\n</think>\n\n{SAID}<|im_end|>",
    ),
    ("a1-function-parameter", "no reasoning", {}, f"\n</think>\n\n{SAID}<|im_end|>"),
    (
        "a1-function-parameter",
        "tool call",
        {},
        f"Let me see what is asked.\n</think>\n\n{TAGS}<|im_end|>",
    ),
    ("a1-function-parameter", "tool call", {"enable_thinking": False}, f"{TAGS}<|im_end|>"),
    ("reasoning-forced-open", "no reasoning", {}, f"\n</muse>\n\n{SAID}<|role_end|>"),
    ("t2-recipient-header", "answer", {}, f"<|channel|>final<|message|>{SAID}<|return|>"),
    ("t1-name-then-json", "answer", {}, f"{SAID}</s>"),
]


@pytest.mark.parametrize(("name", "scenario", "setting", "text"), WRITTEN)
def test_the_text_goes_on_where_the_prompt_ends(
    name: str, scenario: str, setting: dict[str, Json], text: str
) -> None:
    chosen = shipped(scenario)
    assert verdict(fixture(name), chosen, chosen.next[0], setting=setting).sampled == text


THINKS = f"<think>\n{THOUGHT}\n</think>\n\n{SAID}<|im_end|>"
CALLS = "Let me look.\n{}<|im_end|>"

VARIED = [
    ("newline after reasoning", THINKS.replace("</think>\n\n", "</think>\n\n\n")),
    ("newline before calls", CALLS.format("\n" + CALL)),
    ("no space before calls", CALLS.format(CALL).replace("look.\n", "look.")),
    ("newline begins answer", f"\n{SAID}<|im_end|>"),
    ("newline ends answer", f"{SAID}\n<|im_end|>"),
    ("compact JSON", CALL.replace('": ', '":').replace(", ", ",")),
    ("escaped JSON", "Troms\\u00f8 \\u6771\\u4eac"),
    ("Python literals", '"draft": True, "parent": None'),
    ("cut in the answer", f"<think>\n{THOUGHT}\n</think>\n\nIt is"),
    ("cut in a call, kept", '"arguments": {"city": "Os'),
    ("malformed call, kept", '"arguments": {"city": "Os}'),
]


@pytest.mark.parametrize(("scenario", "text"), VARIED)
def test_a_variation_changes_what_it_says(scenario: str, text: str) -> None:
    chosen = shipped(scenario)
    assert text in verdict(fixture("j1-json-in-tags"), chosen, chosen.next[0]).sampled


LEFT_OUT = [
    ("reasoning-none", "reasoning + answer", "knows no reasoning"),
    ("reasoning-in-prompt-words", "tool call", "writes no calls"),
    ("j1-json-in-tags", "spaced JSON", "writes it so"),
    ("calls-two-raise", "several calls", "one call, more are refused"),
]


@pytest.mark.parametrize(("name", "scenario", "reason"), LEFT_OUT)
def test_what_a_format_does_not_write_is_left_out(name: str, scenario: str, reason: str) -> None:
    found = round_trip(fixture(name), [shipped(scenario)])
    assert found.rows == ()
    assert reason in found.left_out[0][2]


def test_reasoning_that_nothing_opens_is_left_out() -> None:
    cut = "{{ m.content.split('</think>')[-1] }}"
    template = turn(cut, opening="<|a|>", end="<|end|>", prompt="<|a|>")
    found = round_trip(analyze(template), [shipped("reasoning + answer")])
    assert "nothing shows how reasoning is opened" in found.left_out[0][2]


def test_a_closed_prompt_leaves_no_room_for_reasoning() -> None:
    found = rows(
        fixture("j1-json-in-tags"),
        [shipped("reasoning + answer")],
        setting={"enable_thinking": False},
    )
    assert found == ()


def test_a_model_that_writes_the_header_itself() -> None:
    template = turn(CONTENT, opening="<|a|>", end="<|end|>", prompt="")
    found = verdict(analyze(template), "answer", Next.USER)
    assert found.sampled == f"<|a|>{SAID}<|end|>"
    assert found.holds


def test_a_turn_goes_on_where_it_was_cut() -> None:
    template = turn(REASONING, CONTENT, calls(), opening="<|a|>", end="<|end|>", prompt="<|a|>")
    for name in ("cut in the answer", "cut in the reasoning"):
        found = verdict(analyze(template), name, Next.CONTINUATION)
        assert found.outcome is Outcome.HOLDS, found
        assert "<|end|>" not in found.sampled


def test_a_turn_that_ended_does_not_go_on() -> None:
    scenario = replace(shipped("answer"), next=(Next.CONTINUATION,))
    assert rows(fixture("content-plain"), [scenario]) == ()


def test_ids_that_carry_the_name_are_written() -> None:
    scenario = Scenario(
        "ids",
        message=Message(calls=(ToolCall("get_weather", {"city": "Oslo"}),)),
        silent=True,
        tools=shipped("answer").tools,
        next=(Next.TOOL,),
    )
    found = verdict(fixture("t5-id-carries-name"), scenario, Next.TOOL)
    assert "get_weather:0" in found.sampled
    assert found.holds
