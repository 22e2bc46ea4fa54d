"""The messages that engines make of a conversation and of calls that were cut."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from autoparser.analysis.core.message_shape import EmptyContent, MessageShape
from autoparser.analysis.history.client_memory import (
    EngineMessages,
    readable_part,
    remember_message,
)
from autoparser.analysis.history.scenarios import PROFILES, EngineHabits, UnreadCalls
from tests.fixture_analyses import analyzed

from .renderers import read_cases
from .test_round_trips import scenario_from

SHAPE = MessageShape(reasoning_field="thought", empty_content=EmptyContent.NULL)


KEPT = "A lookup is due."


def test_an_earlier_turn_and_its_result_are_as_the_engine_makes_them() -> None:
    thought, both = {"reasoning_content": KEPT}, {"reasoning": KEPT, "reasoning_content": KEPT}
    ways: list[tuple[str, bool, dict[str, Any]]] = [
        ("", False, {"content": None, "thought": KEPT}),
        ("vllm", False, {"content": "", **both}),
        ("vllm", True, {"content": [], **both}),
        ("sglang", False, {"content": "", **thought}),
        ("transformers", False, {"content": ""}),
    ]
    history = scenario_from("call in a tool loop").history
    for engine, parts, fields in ways:
        habits = PROFILES[engine].engine if engine else EngineHabits()
        messages: list[Any] = [*EngineMessages(SHAPE, habits, parts).conversation(history)]
        question, turn, result = messages[:3]
        (call,) = turn.pop("tool_calls")
        assert call.pop("id")
        function = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}
        assert call == {"type": "function", "function": function}
        assert turn == {"role": "assistant", **fields}
        # A result of OpenAI's API has no name, and its text is one text.
        assert ("name" in result) is (engine == "")
        assert isinstance(result["content"], str)
        text = "What is the weather in Oslo?"
        assert question["content"] == ([{"type": "text", "text": text}] if parts else text)


def test_a_broken_block_is_dropped_or_kept_as_content() -> None:
    analysis = analyzed("a1-function-parameter")
    # It begins otherwise than calls of this format do.
    sampled = 'Hm.\n</think>\n\nLet me look.\n\n<tool_call>\n{"name": get\n</tool_call><|im_end|>'
    parsed = analysis.parser().parse(sampled)
    for malformed, kept in ((UnreadCalls.DROPPED, False), (UnreadCalls.CONTENT, True)):
        messages = EngineMessages(analysis.shape, EngineHabits(malformed=malformed), parts=False)
        found = remember_message(messages, analysis.format, parsed, sampled).message["content"]
        assert str(found).startswith("Let me look.")
        assert ("name" in str(found)) is kept


@pytest.mark.parametrize("case", read_cases("cut_json.yaml"), ids=lambda case: repr(case["text"]))
def test_the_longest_prefix_that_can_become_json_is_read(case: dict[str, Any]) -> None:
    assert readable_part(case["text"]) == case["value"]


def test_a_long_text_is_read_in_seconds() -> None:
    """A reader that looks at each prefix in turn would not come to an end here."""
    tails = (
        "k" * 1_000_000,
        "oops " * 200_000,
        '": oops' + "s" * 1_000_000,
        '": ' + "[" * 1_000_000,
    )
    for tail in tails:
        started = process_time()
        assert readable_part('{"city": "Oslo", "' + tail)["city"] == "Oslo"
        assert process_time() - started < 5
