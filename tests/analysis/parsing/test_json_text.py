"""Check JSON arguments, and the fast path for rendered calls against the general reader."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from autoparser import ChatTemplate, Message, OutputParser, ParsedCall, Status, ToolCall
from autoparser.analysis.core.call_notation import ValueNotation, json_notation, python_notation
from autoparser.analysis.core.string_notation import StringText
from autoparser.analysis.parsing.json_text import BracketScan, QuoteScan
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage
from autoparser.analysis.parsing.written_call import WrittenCall
from tests.case_tables import case_tables
from tests.corpus.corpus_templates import own_paths
from tests.fixture_analyses import TOKENS, analyzed
from tests.fuzz.__main__ import target_of
from tests.fuzz.edits import cut, edited
from tests.lanes import sampled
from tests.offers import tool

from .loop import analysis_of, disagreement

TABLE = case_tables(__file__, "scans.yaml")
VALUES = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)


def parser() -> OutputParser:
    return analysis_of("t1-name-then-json").parser()


def read(arguments: str) -> ParsedCall:
    """Read the one call with these arguments."""
    (call,) = parser().parse(f"[TOOL_CALLS]f[ARGS]{arguments}</s>").tool_calls
    return call


@given(VALUES, st.sampled_from((None, 2)))
@settings(deadline=None)
def test_json_arguments_pass_byte_for_byte(value: object, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assert read(text) == ParsedCall("f", text)


_DOUBLE = re.compile(r'^".*(?<!\\)(?:\\\\)*\\[xU]')
"""A string of Python in double quotes with an escape that JSON lacks."""


def _strings(value: object) -> Iterator[str]:
    """Return all strings in a value as Python writes them."""
    if isinstance(value, str):
        yield repr(value)
    elif isinstance(value, dict):
        yield from map(repr, value)
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@given(VALUES, st.integers(1, 7))
def test_python_literals_become_json_for_every_chunking(value: object, size: int) -> None:
    call = read(repr(value))
    # In double quotes, only the escapes of JSON are sure.
    status = Status.REPAIRED if any(map(_DOUBLE.search, _strings(value))) else Status.OK
    assert (json.loads(call.arguments), call.status) == (value, status)
    text = f"[TOOL_CALLS]f[ARGS]{value!r}</s>"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert not disagreement(parser(), text, pieces)


@given(st.sampled_from(("", "{", '{"a": ')), st.text("{}[]:,\"'a1 ") | st.text())
def test_arbitrary_arguments_never_raise_or_give_invalid_json(front: str, text: str) -> None:
    text = f"[TOOL_CALLS]f[ARGS]{front}{text}"
    assert not disagreement(parser(), text, list(text))


@TABLE("python_escapes")
def test_python_escapes_are_decoded(text: str, value: str) -> None:
    assert json.loads(read(f"{{'a': {text}}}").arguments) == {"a": value}


# Where a value ends by its own brackets and quotes, and which places are inside its strings.


NOTATIONS: Mapping[str, ValueNotation] = {
    "json": json_notation(),
    "python": python_notation(),
    "verbatim": replace(json_notation(), string=StringText("‹", "›")),
    "bare": replace(json_notation(), string=StringText()),
}


@TABLE("ends")
def test_value_ends_after_its_brackets_and_quotes(case: dict[str, Any]) -> None:
    text = case["value"] + case["behind"]
    for step in (1, 3, len(text)):
        scan = BracketScan(NOTATIONS[case["notation"]], (",",))
        ends = range(step, len(text) + step, step)
        found = (scan.end_of(text[:end], 0, closed=end >= len(text)) for end in ends)
        assert next(end for end in found if end is not None) == len(case["value"])


@TABLE("inside")
def test_quote_scan_is_the_same_for_every_chunking(case: dict[str, Any]) -> None:
    text = case["text"]
    for at in range(len(text) + 1):
        scan = QuoteScan(NOTATIONS[case["notation"]])
        scan.read(text[:at])
        assert scan.inside(text[at:]) is case["inside"]
        scan.read(text[at:])
        assert scan.inside("") is case["inside"]


TOOLS = [tool("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}})]
PROSE = (DeltaKind.REASONING, DeltaKind.CONTENT)
WRITTEN = (
    *("a1-function-parameter", "a2-key-value-tags", "a3-invoke-parameter", "j1-json-in-tags"),
    *("t2-recipient-header", "t4-name-separator-json", "t5-id-carries-name"),
)


@pytest.mark.parametrize("name", WRITTEN)
def test_short_call_is_scanned_once(name: str) -> None:
    analysis = analyzed(name)
    call = ToolCall("get_weather", {"city": "Oslo", "days": 3}, "call-1")
    text = analysis.format.write(Message(calls=(call,)))
    taken = WrittenCall.take
    with mock.patch.object(WrittenCall, "take", autospec=True, side_effect=taken) as looked:
        stream = analysis.parser(TOOLS, reasoning_over=True).stream()
        deltas = [delta for sign in text for delta in stream.feed(sign)]
    assert looked.call_count == 1
    calls = [delta.kind for delta in deltas if delta.kind not in PROSE]
    assert calls == [DeltaKind.CALL, DeltaKind.ARGUMENTS]


def _declines(*_: object) -> bool:
    return False


Read = tuple[ParsedMessage, dict[tuple[DeltaKind, int], str]]


def _read(parser: OutputParser, pieces: list[str], *, complete: bool) -> Read:
    stream = parser.stream()
    deltas: list[Delta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    texts: dict[tuple[DeltaKind, int], str] = {}
    for delta in (*deltas, *stream.finish(complete=complete)):
        case = delta.kind, delta.index
        texts[case] = texts.get(case, "") + delta.text
    return stream.message, texts


@pytest.mark.parametrize("path", sampled(own_paths(), 9))
def test_fast_call_reading_equals_the_stepwise_one(path: Path) -> None:
    rng = random.Random(path.stem)
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS)
    target = target_of(template, name=path.stem)
    assert target is not None
    for text, parser in target.turns:
        for spoiled in (text, edited(rng, text, target.pieces, 1)):
            complete = rng.random() < 0.7
            for pieces in ([spoiled], cut(rng, spoiled)):
                at_once = _read(parser, pieces, complete=complete)
                # Leave every call to the readers of departures.
                with mock.patch.multiple(WrittenCall, holds=_declines, take=_declines):
                    assert _read(parser, pieces, complete=complete) == at_once, spoiled
