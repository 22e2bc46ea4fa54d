"""Calls as models write them beside the template, and calls that are none."""

from __future__ import annotations

import json

import pytest

from autoparser import analyze
from autoparser.analysis.parsing.parsed_message import Status
from tests.analysis.tiny import CONTENT, calls, turn

from .loop import TOOLS, disagreement
from .test_forgiving import parsed

OSLO = ("get_forecast", {"city": "Oslo"})
READ: tuple[tuple[str, str, str, tuple[str, object]], ...] = (
    (
        "its id is missing",
        "t1-2-name-id-json",
        '[TOOL_CALLS]get_forecast[ARGS]{"city": "Oslo"}',
        OSLO,
    ),
    (
        "the messages' field",
        "j2-bare-object",
        '{"name": "get_forecast", "arguments": {"city": "Oslo"}}',
        OSLO,
    ),
    (
        "the tools' field",
        "j1-json-in-tags",
        '<tool_call>{"name": "get_forecast", "parameters": {"city": "Oslo"}}</tool_call>',
        OSLO,
    ),
    (
        "a tag that closes itself",
        "a1-function-parameter",
        "<tool_call>\n<function=get_forecast/>\n</tool_call>",
        ("get_forecast", {}),
    ),
    (
        "a tag with quotes that closes itself",
        "a3-invoke-parameter",
        '<vireo:tool_call>\n<invoke name="get_forecast" />\n</vireo:tool_call>',
        ("get_forecast", {}),
    ),
    (
        "nothing between name and close",
        "a2-key-value-tags",
        "<tool_call>get_forecast</tool_call>",
        ("get_forecast", {}),
    ),
)


@pytest.mark.parametrize(
    ("what", "fixture", "text", "expected"), READ, ids=[row[0] for row in READ]
)
def test_a_call_is_read(what: str, fixture: str, text: str, expected: tuple[str, object]) -> None:
    message = parsed(fixture, text)
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [expected], (
        what
    )
    assert message.content is None
    assert message.status.regular


def test_an_empty_text_stands_for_no_arguments() -> None:
    text = '<tool_call>\n{"name": "get_forecast", "arguments": ""}\n</tool_call>'
    message = parsed("j1-json-in-tags", text)
    assert [call.arguments for call in message.tool_calls] == ["{}"]
    assert message.status is Status.REPAIRED


UNREAD = (
    (
        "j1-json-in-tags",
        '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "a": "b"}}\n</tool_call>',
    ),
    (
        "j1-json-in-tags",
        '<tool_call>\n{"name": "get_forecast", "arguments": {"city"}}\n</tool_call>',
    ),
    (
        "j1-json-in-tags",
        '<tool_call>\n{"name": "get_forecast", "arguments": "Oslo"}\n</tool_call>',
    ),
    (
        "j1-json-in-tags",
        '<tool_call>\n{"name": "get_forecast", "arguments": "{\\"city\\": 3"}\n</tool_call>',
    ),
    ("t1-name-then-json", "[TOOL_CALLS]get_forecast"),
    ("t5-id-carries-name", "<|call_begin|>functions.get_forecast:0 {}"),
)


@pytest.mark.parametrize(("fixture", "text"), UNREAD)
def test_what_cannot_be_read_stays_content(fixture: str, text: str) -> None:
    message = parsed(fixture, text)
    assert not message.tool_calls
    assert message.content
    assert text.endswith(message.content)
    assert message.status is Status.MALFORMED


QUOTED = (
    '{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}="{{ v }}"'
    "{% if not loop.last %}, {% endif %}{% endfor %})"
)


@pytest.mark.parametrize(
    "written",
    [
        'city="Oslo, so", days="3"',
        "city='Oslo, so', days=3",
        'city = "Oslo, so", days = 3',
        "days=3, city='Oslo, so'",
    ],
)
def test_where_all_values_are_quoted_alike_any_literal_is_read(written: str) -> None:
    template = turn(
        CONTENT, calls(QUOTED, opening="<do>[", separator=", ", close="]</do>"), end="<|end|>\n"
    )
    parser = analyze(template).parser(TOOLS)
    text = f"<do>[get_forecast({written})]</do><|end|>"
    (call,) = parser.parse(text).tool_calls
    assert json.loads(call.arguments) == {"city": "Oslo, so", "days": 3}
    assert not disagreement(parser, text, list(text))
