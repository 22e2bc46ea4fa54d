"""Texts of tables, parsed by a format in one piece and by characters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from autoparser import LearnedFormat, Message, ToolCall
from autoparser.analysis.parsing.parsed_message import message_from
from tests.analysis.parsing.loop import disagreement


def message_in(value: dict[str, Any]) -> Message:
    """Read a message of a table."""
    entries = value.get("tool_calls", value.get("calls", []))
    calls = tuple(
        ToolCall(entry["name"], entry["arguments"], entry.get("id", "")) for entry in entries
    )
    return Message(value.get("content", ""), value.get("reasoning", ""), calls)


def tools_for(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Offer the functions of some calls."""
    return [
        {
            "function": {
                "name": call.name,
                "parameters": {"properties": {key: {} for key in call.arguments}},
            }
        }
        for call in calls
    ]


def assert_reads(
    learned: LearnedFormat, texts: Sequence[dict[str, Any]], tools: Sequence[object] | None = None
) -> None:
    """Parse each text to the message paired with it; `tools` default to the tools of the calls."""
    for text in texts:
        meant = message_in(text)
        parser = learned.parser(tools_for(meant.calls) if tools is None else tools)
        whole = parser.parse(text["text"])
        read = message_from(whole)
        assert (read.content, read.reasoning) == (meant.content, meant.reasoning)
        # As JSON, since to Python true and 1 are the same.
        assert [(call.name, json.dumps(dict(call.arguments))) for call in read.calls] == [
            (call.name, json.dumps(dict(call.arguments))) for call in meant.calls
        ]
        named = [(call.id, has.id) for call, has in zip(whole.tool_calls, meant.calls, strict=True)]
        assert all(found == wanted for found, wanted in named if wanted)
        assert whole.status.value == text.get("status", whole.status.value)
        assert not disagreement(parser, text["text"], text["text"])
