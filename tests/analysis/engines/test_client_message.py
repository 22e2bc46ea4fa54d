"""Messages as clients have them, and what of them is otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import Message, ToolCall
from autoparser.analysis.core.conversation import ReadCall, ReadMessage
from autoparser.analysis.engines.engine_server import (
    PartLikeness,
    client_message,
    joined_deltas,
    message_differences,
)


@pytest.mark.parametrize(
    ("meant", "came", "found"),
    [
        (ReadMessage("b", "a"), ReadMessage("b", "a"), []),
        (ReadMessage("b", "a"), ReadMessage("b", "a\n"), [("reasoning", PartLikeness.EDGES)]),
        (ReadMessage("b", ""), ReadMessage("\n\nb ", ""), [("content", PartLikeness.EDGES)]),
        (
            ReadMessage("b", "a"),
            ReadMessage("ab", ""),
            [("reasoning", PartLikeness.DIFFERENT), ("content", PartLikeness.DIFFERENT)],
        ),
    ],
)
def test_texts_are_compared_exactly_and_up_to_their_edges(
    meant: ReadMessage, came: ReadMessage, found: list[tuple[str, PartLikeness]]
) -> None:
    assert [(each.part.value, each.likeness) for each in message_differences(meant, came)] == found


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ('{"b":1,  "a": "\\u00e9"}', True),
        ('{"a": "é", "b": 1.0}', True),
        ('{"a": "é", "b": true}', False),
        ('{"a": "é"}', False),
        ('{"a": "é", "b": 1', False),
        ('"{}"', False),
    ],
)
def test_arguments_are_compared_as_json(arguments: str, same: bool) -> None:
    meant = ReadMessage.of(Message(calls=(ToolCall("f", {"a": "é", "b": 1}),)))
    came = ReadMessage(calls=(ReadCall("f", arguments),))
    assert (message_differences(meant, came) == ()) is same


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_a_stream_is_put_together_by_the_index_of_calls(field: str) -> None:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None},
        {field: "a"},
        {field: "b", "content": "c"},
        {"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "function": {"name": None, "arguments": "}"}}]},
    ]
    calls = (ReadCall("f", "{}"), ReadCall("g", ""))
    assert joined_deltas(deltas) == ReadMessage("c", "ab", calls)


def test_reasoning_that_comes_in_both_fields_counts_once() -> None:
    both: dict[str, Any] = {"reasoning": "a", "reasoning_content": "a"}
    assert client_message(both) == ReadMessage(reasoning="a")
