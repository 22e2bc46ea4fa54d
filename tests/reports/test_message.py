"""A parsed message and a stream, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from autoparser import Delta, ParsedCall, ParsedMessage, Span, SpanKind, Status
from autoparser.analysis.parsing.parsed_message import DeltaKind
from autoparser.reports import (
    all_read,
    chunk_document,
    chunk_report,
    end_report,
    message_document,
    message_report,
)

TEXT = "Hi [b]\x1b<f>"
SPANS = (Span(0, 7, SpanKind.CONTENT), Span(7, 10, SpanKind.MARKUP))
CALL = ParsedCall("f", '{"a":[1]}', "id1")


def message(
    *calls: ParsedCall, status: Status = Status.OK, partial: ParsedCall | None = None
) -> ParsedMessage:
    return ParsedMessage("Hi [b]\x1b", None, calls, partial, status, SPANS)


READ = [
    (message(CALL), True),
    (message(status=Status.REPAIRED), True),
    (message(status=Status.UNFINISHED), True),
    (message(status=Status.STRAY), False),
    (message(status=Status.MALFORMED), False),
    (message(status=Status.CUT), False),
    (message(CALL, ParsedCall("g", "{}", "", Status.UNKNOWN_TOOL)), False),
]


@pytest.mark.parametrize(("parsed", "read"), READ)
def test_a_status_says_whether_all_was_read(parsed: ParsedMessage, read: bool) -> None:
    assert all_read(parsed) is read


def test_a_message_is_shown_in_full() -> None:
    shown = message_report(message(CALL), TEXT, 60).plain.splitlines()
    assert shown == [
        "Status     ok: all was read",
        "Reasoning  none",
        r"Content    Hi [b]\x1b",
        "Call 1     f  id `id1`",
        "           {",
        '             "a": [',
        "               1",
        "             ]",
        "           }",
        "",
        "Which part of the text was what",
        "  ↵ is a newline, ⇥ a tab, ␣ a space at an edge",
        r"  content  Hi [b]\x1b",
        "  markup   <f>",
    ]


def test_arguments_that_are_cut_stay_as_they_are() -> None:
    partial = ParsedCall("f", '{"a": "x\n', "", Status.CUT)
    shown = message_report(message(status=Status.CUT, partial=partial), TEXT, 60).plain
    assert 'Cut call   f  cut\n           {"a": "x' in shown


def test_a_document_is_openais_message_and_more() -> None:
    parsed = message(CALL, status=Status.CUT, partial=ParsedCall("g", '{"b', "", Status.CUT))
    document = message_document(parsed, TEXT)
    assert json.loads(json.dumps(document)) == document
    # The call that the end cut stands apart.
    openai = replace(parsed, partial_call=None).to_openai()
    assert {key: document[key] for key in openai} == openai
    assert document["status"] == "cut"
    assert document["call_statuses"] == ["ok"]
    assert document["partial_call"] == {"id": None, "name": "g", "arguments": '{"b'}
    assert document["spans"] == [
        {"start": 0, "end": 7, "kind": "content", "text": "Hi [b]\x1b"},
        {"start": 7, "end": 10, "kind": "markup", "text": "<f>"},
    ]


DELTAS = [
    ([], "ab    → -"),
    ([Delta(DeltaKind.CONTENT, " a\n")], "ab    → content `␣a↵`"),
    ([Delta(DeltaKind.REASONING, "a")], "ab    → reasoning `a`"),
    (
        [Delta(DeltaKind.CALL, "f", 1, "x"), Delta(DeltaKind.ARGUMENTS, "{", 1)],
        "ab    → call 2 f id `x`, arguments 2 `{`",
    ),
]


@pytest.mark.parametrize(("deltas", "line"), DELTAS)
def test_a_chunk_is_one_line(deltas: list[Delta], line: str) -> None:
    assert chunk_report("ab", deltas, 4).plain == line
    assert chunk_document("ab", deltas) == {
        "chunk": "ab",
        "deltas": [delta.to_openai() for delta in deltas],
    }


def test_the_end_says_how_the_message_came_out() -> None:
    assert end_report([], message(), 4).plain == "(end) → -\n\nStatus  ok: all was read"
