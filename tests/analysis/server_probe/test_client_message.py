"""Messages as clients have them, and what of them is otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import Message, ToolCall
from autoparser.analysis.server_probe import ClientCall, ClientMessage, Likeness
from autoparser.analysis.server_probe.client_message import differences


@pytest.mark.parametrize(
    ("meant", "came", "found"),
    [
        (ClientMessage("a", "b"), ClientMessage("a", "b"), []),
        (ClientMessage("a", "b"), ClientMessage("a\n", "b"), [("reasoning", Likeness.EDGES)]),
        (ClientMessage("", "b"), ClientMessage("", "\n\nb "), [("content", Likeness.EDGES)]),
        (
            ClientMessage("a", "b"),
            ClientMessage("", "ab"),
            [("reasoning", Likeness.DIFFERENT), ("content", Likeness.DIFFERENT)],
        ),
    ],
)
def test_texts_are_compared_exactly_and_up_to_their_edges(
    meant: ClientMessage, came: ClientMessage, found: list[tuple[str, Likeness]]
) -> None:
    assert [(each.part.value, each.likeness) for each in differences(meant, came)] == found


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
    meant = ClientMessage.of(Message(calls=(ToolCall("f", {"a": "é", "b": 1}),)))
    came = ClientMessage(calls=(ClientCall("f", arguments),))
    assert (differences(meant, came) == ()) is same


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
    calls = (ClientCall("f", "{}"), ClientCall("g", ""))
    assert ClientMessage.joined(deltas) == ClientMessage("ab", "c", calls)


def test_reasoning_that_comes_in_both_fields_counts_once() -> None:
    both: dict[str, Any] = {"reasoning": "a", "reasoning_content": "a"}
    assert ClientMessage.read(both) == ClientMessage("a")
