"""Whose fault a break is, what known engines do, and samples that do not hold what they should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.history.client_memory import EngineMessages, remember_message
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenario_files import scenarios_of
from autoparser.analysis.history.scenarios import (
    PROFILES,
    BesideCalls,
    EngineHabits,
    Next,
    UnreadCalls,
)
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.analysis.history.trip_verdict import Outcome
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

from .played import fixture, shipped, verdict

JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')
BY_ID = calls("<call>{{ c.id }}|{{ f.name }}|{{ f.arguments|tojson }}</call>")


def chat(*parts: str) -> ChatTemplate:
    return turn(*parts, opening="<|a|>", end="<|end|>\n", prompt="<|a|>")


FAULTS = [
    ((CONTENT, JSON), "tool call", None),
    (("{{ (m.content or '')|trim }}",), "newline ends answer", Culprit.TEMPLATE),
    ((CONTENT, JSON), "compact JSON", Culprit.MODEL),
    ((CONTENT, JSON), "arguments as string", Culprit.ENGINE),
    ((CONTENT, BY_ID), "engine-made ids", Culprit.ENGINE),
    ((CONTENT, JSON), "malformed call, dropped", Culprit.ENGINE),
    (
        ("{% if not m.tool_calls %}{{ m.content }}{% endif %}", JSON),
        "tool call + content",
        Culprit.TEMPLATE,
    ),
]


@pytest.mark.parametrize(("parts", "name", "fault"), FAULTS)
def test_a_break_is_somebodys_fault(
    parts: tuple[str, ...], name: str, fault: Culprit | None
) -> None:
    scenario = shipped(name)
    assert verdict(analyze(chat(*parts)), scenario, scenario.next[0]).fault is fault


def test_reasoning_that_the_template_drops_is_its_fault_in_a_turn_with_a_broken_call_too() -> None:
    # The reasoning stands before the call, and is gone before the call could matter.
    found = verdict(fixture("history-last-query"), "malformed call, kept", Next.USER)
    assert (found.cause, found.fault) == (Cause.REASONING_DROPPED, Culprit.TEMPLATE)


IN_TAGS = "{% if m.content %}<answer>{{ m.content }}</answer>{% endif %}"


@pytest.mark.parametrize(
    "name", ["malformed call, kept", "malformed call, dropped", "cut in a call, kept"]
)
def test_a_call_that_is_not_whole_is_lost_by_the_model(name: str) -> None:
    # Whatever the engine keeps of it is content, and that has tags of its own.
    found = verdict(analyze(chat(IN_TAGS, JSON)), name, Next.USER)
    assert (found.cause, found.fault) == (Cause.CALL_LOST, Culprit.MODEL)


def test_a_malformed_call_stays_malformed_in_the_history() -> None:
    # The tagged call lacks one closer, which the parser forgives and no engine's does.
    found = verdict(fixture("a1-function-parameter"), "malformed call, kept", Next.USER)
    assert found.status is not None
    assert not found.status.regular
    assert found.cause is not Cause.CALL_REPAIRED


FIELDS = ("reasoning", "reasoning_content", "thinking")
HOLDS = {"vllm": FIELDS[:2], "sglang": FIELDS[1:2], "transformers": ()}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", PROFILES)
def test_an_engine_gives_reasoning_in_its_own_fields(name: str, field: str) -> None:
    template = chat(REASONING.replace("reasoning_content", field), CONTENT)
    (row,) = round_trip(
        analyze(template), [shipped("reasoning + answer")], profile=PROFILES[name]
    ).rows
    found = row.verdict
    if field in HOLDS[name]:
        assert found.holds
    else:
        assert (found.cause, found.fault) == (Cause.REASONING_DROPPED, Culprit.ENGINE)


BESIDE = [
    (BesideCalls.VERBATIM, None),
    (BesideCalls.STRIPPED, Cause.CONTENT_STRIPPED),
    (BesideCalls.DROPPED, Cause.CONTENT_DROPPED),
]


@pytest.mark.parametrize(("habit", "cause"), BESIDE)
def test_an_engine_may_not_keep_content_beside_calls(
    habit: BesideCalls, cause: Cause | None
) -> None:
    scenario = replace(
        shipped("tool call"),
        message=Message(" Let me look. ", calls=shipped("tool call").message.calls),
        engine=EngineHabits(beside_calls=habit),
    )
    found = verdict(analyze(chat(CONTENT, JSON)), scenario, Next.TOOL)
    assert found.cause is cause
    assert found.fault is (None if cause is None else Culprit.ENGINE)


def test_a_scenario_names_an_engine_or_its_habits() -> None:
    named, habits = scenarios_of(
        [
            {"name": "a", "message": {}, "engine": "sglang"},
            {"name": "b", "message": {}, "engine": {"field": "thought", "beside_calls": "dropped"}},
        ],
        "own.yaml",
    )
    assert named.engine == PROFILES["sglang"].engine
    assert habits.engine == EngineHabits(
        reasoning_fields=("thought",), beside_calls=BesideCalls.DROPPED
    )


def left_out(template: ChatTemplate, name: str) -> set[str]:
    return {reason for _, _, reason in round_trip(analyze(template), [shipped(name)]).left_out}


def test_several_calls_are_played_where_several_are_written() -> None:
    one = JSON.replace("for c in m.tool_calls", "for c in m.tool_calls[:1]")
    assert left_out(chat(CONTENT, one), "several calls") == {
        "the template does not write every call of a turn"
    }
    assert left_out(chat(CONTENT, JSON), "several calls") == set()


APART = (
    "{% if m.reasoning_content %} to self:{{ m.reasoning_content }}<|next|><|a|>{% endif %}"
    "{% if m.tool_calls %}{% for c in m.tool_calls %} to {{ c.function.name }}:"
    "{{ c.function.arguments|tojson }}{% endfor %}{% else %} to user:{{ m.content }}{% endif %}"
)


def test_content_is_not_glued_to_what_is_addressed_to_somebody_else() -> None:
    assert left_out(chat(APART), "tool call + both") == {
        "nothing shows where content stands beside these parts"
    }
    assert (
        verdict(analyze(chat(APART)), "tool call + reasoning", Next.TOOL).outcome is Outcome.HOLDS
    )


def test_a_call_that_is_whole_all_the_same_is_not_a_malformed_one() -> None:
    # Nothing but a line's end closes a call, so that an unclosed one is whole.
    pasted = calls("!{{ f.name }} {{ f.arguments|tojson }}\n")
    (reason,) = left_out(chat(CONTENT, pasted), "unclosed call")
    assert reason in ("what is left of the call is a whole one", "nothing closes a call")


def test_a_block_that_begins_otherwise_than_calls_do_is_dropped_too() -> None:
    folder = Path(__file__).parents[3] / "fixtures" / "templates"
    analysis = analyze(ChatTemplate((folder / "a1-function-parameter.jinja").read_text("utf-8")))
    sampled = 'Hm.\n</think>\n\nLet me look.\n\n<tool_call>\n{"name": get\n</tool_call><|im_end|>'
    parsed = analysis.parser().parse(sampled)
    for malformed, kept in ((UnreadCalls.DROPPED, False), (UnreadCalls.CONTENT, True)):
        messages = EngineMessages(analysis.shape, EngineHabits(malformed=malformed), parts=False)
        found = remember_message(messages, analysis.format, parsed, sampled).message["content"]
        assert str(found).startswith("Let me look.")
        assert ("name" in str(found)) is kept
