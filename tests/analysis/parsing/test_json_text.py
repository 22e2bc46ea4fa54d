"""Check JSON arguments: valid JSON stays unchanged, Python becomes JSON, nothing raises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from autoparser import OutputParser, ParsedCall, Status
from autoparser.analysis.core.call_notation import ValueNotation, json_notation, python_notation
from autoparser.analysis.core.string_notation import StringText
from autoparser.analysis.parsing.json_text import BracketScan, QuoteScan
from tests.case_tables import case_tables

from .loop import analysis_of, disagreement

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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'\x1f\xe9'", "\x1f\xe9"),
        (r"'\U0001f680'", "\U0001f680"),
        (r"'\xg1 \U00110000'", r"\xg1 \U00110000"),
        (r"'C:\new'", "C:\new"),
    ],
)
def test_python_escapes_are_decoded(text: str, value: str) -> None:
    assert json.loads(read(f"{{'a': {text}}}").arguments) == {"a": value}


# Where a value ends by its own brackets and quotes, and which places are inside its strings.


TABLE = case_tables(__file__, "scans.yaml")
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
    for cut in range(len(text) + 1):
        scan = QuoteScan(NOTATIONS[case["notation"]])
        scan.read(text[:cut])
        assert scan.inside(text[cut:]) is case["inside"]
        scan.read(text[cut:])
        assert scan.inside("") is case["inside"]
