"""A marker inside a raw value ends it only where the call validly goes on."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status

from .loop import TOOLS, analysis_of, disagreement, gaps

TAGGED, PAIRS, INVOKES, QUOTED = (
    "a1-function-parameter",
    "a2-key-value-tags",
    "a3-invoke-parameter",
    "g1-pseudo-json",
)
ROWS = {
    TAGGED: (
        "<tool_call>\n<function=update_record>\n<parameter=title>\n{}",
        "\n</parameter>\n</function>\n</tool_call>",
    ),
    PAIRS: (
        "<tool_call>update_record\n<arg_key>title</arg_key>\n<arg_value>{}",
        "</arg_value>\n</tool_call>",
    ),
    INVOKES: (
        '<vireo:tool_call>\n<invoke name="update_record">\n<parameter name="title">{}',
        "</parameter>\n</invoke>\n</vireo:tool_call>",
    ),
    QUOTED: ('<|tool_call>call:update_record{{title:<|"|>{}', '<|"|>}}<tool_call|>'),
}


def parsed(fixture: str, text: str, *, complete: bool = True) -> ParsedMessage:
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    message = parser.parse(text, complete=complete)
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text), complete=complete)
    return message


def titles(message: ParsedMessage) -> list[object]:
    return [json.loads(call.arguments).get("title") for call in message.tool_calls]


TEXTS = (
    (TAGGED, "Document <tool_call> usage"),
    (TAGGED, "<tool_call> and </tool_call>, <function=other> and </function>"),
    (TAGGED, "ends with </function>\n</tool_call> and goes on"),
    (TAGGED, "once more <parameter=title> here"),
    (TAGGED, "in a line <parameter=count> here"),
    (TAGGED, "the turn ends with <|im_end|>, they say"),
    (PAIRS, "Document <tool_call> usage, and <arg_key>"),
    (PAIRS, "a <tool_call>nothing_such\n<arg_key> b"),
    (INVOKES, 'Write <invoke name="other"> inside <vireo:tool_call>'),
    (INVOKES, "one </invoke> more"),
    (QUOTED, "Calls are <|tool_call>call:other{}<tool_call|> so"),
)


@pytest.mark.parametrize(("fixture", "title"), TEXTS)
def test_a_marker_that_leads_nowhere_is_text(fixture: str, title: str) -> None:
    head, tail = ROWS[fixture]
    message = parsed(fixture, head.format(title) + tail.replace("}}", "}"))
    assert titles(message) == [title]
    assert message.content is None
    assert message.status.regular


@pytest.mark.parametrize(("fixture", "title"), TEXTS)
def test_of_a_value_that_is_cut_nothing_is_lost(fixture: str, title: str) -> None:
    head, _ = ROWS[fixture]
    message = parsed(fixture, head.format(title), complete=False)
    assert message.partial_call is not None
    assert message.partial_call.name == "update_record"
    assert not message.tool_calls


A_VALUE = "<tool_call>\n<function=update_record>\n<parameter=title>\nx"
A_NEXT = "<tool_call>\n<function=update_record>\n<parameter=title>\ny\n</parameter>\n</function>"

FORGOTTEN = (
    ("the closers up to the end", f"{A_VALUE}\n</function>\n</tool_call>", ["x"]),
    ("the closers up to the turn's end", f"{A_VALUE}\n</function>\n</tool_call><|im_end|>", ["x"]),
    ("one closer up to the end", f"{A_VALUE}\n</tool_call>", ["x"]),
    ("the turn's end", f"{A_VALUE}<|im_end|>", ["x"]),
    ("the next call", f"{A_VALUE}\n{A_NEXT}\n</tool_call>", ["x", "y"]),
    ("closers, and the next call", f"{A_VALUE}\n</function>\n</tool_call>\n{A_NEXT}", ["x", "y"]),
    (
        "closers, a text, and the next call",
        f"{A_VALUE}\n</function>\n</tool_call>\nAgain:\n{A_NEXT}\n</tool_call>",
        ["x", "y"],
    ),
    ("a text in which nothing closes", f"{A_VALUE}\n<tool_call> y", ["x"]),
    (
        "an entry",
        f"{A_VALUE}\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>",
        ["x"],
    ),
)


@pytest.mark.parametrize(("what", "text", "expected"), FORGOTTEN, ids=[row[0] for row in FORGOTTEN])
def test_without_its_closer_a_value_ends_before_what_follows(
    what: str, text: str, expected: list[str]
) -> None:
    message = parsed(TAGGED, text)
    assert titles(message) == expected, what
    assert message.tool_calls[0].status is Status.REPAIRED


def test_a_marker_in_a_long_value_does_not_cut_it() -> None:
    head, tail = ROWS[TAGGED]
    for title in ("<tool_call> " + "x" * 40_000, ("<tool_call> " + "y" * 9_000) * 4):
        message = parsed(TAGGED, head.format(title) + tail)
        assert titles(message) == [title]


@pytest.mark.parametrize(
    ("others", "arguments"),
    [
        ({"additionalProperties": {"type": "string"}}, {"note": "a", "more": "b"}),
        ({"patternProperties": {"^m": {"type": "string"}}}, {"note": "a", "more": "b"}),
        ({}, {"note": "a;\nmore:text = b"}),
    ],
)
def test_a_name_that_a_schema_invites_begins_an_argument(
    others: dict[str, object], arguments: dict[str, str]
) -> None:
    parameters = {"type": "object", "properties": {"note": {"type": "string"}}, **others}
    parser = analysis_of("arguments-type-flags").parser(
        [{"name": "book", "parameters": parameters}]
    )
    read = parser.parse("<do>book\nnote:text = a;\nmore:text = b;\n</do>")
    assert [json.loads(call.arguments) for call in read.tool_calls] == [arguments]
