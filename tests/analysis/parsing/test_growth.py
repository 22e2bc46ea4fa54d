"""Repeats meant to make a parser slow: twice as many more characters are about twice the work more.

Work is counted, not timed: calls of functions, and characters that slices copy and stops search.
Held against each other are what the second `SHORT` characters add and what as many as both add
after them. The whole counts tell less: the last 4,096 characters after what opens a key are waited
for, as a key may be as long, and cost next to nothing when they are given up at once. So 5,000
characters of such openings are nearly free and 20,000 are not, though from there on each costs the
same.
"""

from __future__ import annotations

import sys
from typing import SupportsIndex

import pytest

from autoparser.analysis.parsing.text_lookahead import FoundStop, StopTable

from .loop import TOOLS, analysis_of

pytestmark = pytest.mark.slow

SHORT, MOST = 5_000, 3


class Counted(str):
    """A text that counts the characters that are copied from it."""

    __slots__ = ()
    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Counted:
        part = super().__getitem__(key)
        Counted.copied += len(part)
        return Counted(part)

    def __radd__(self, other: str) -> Counted:
        return Counted(f"{other}{self!s}")


def work(fixture: str, text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count what reading a text in one piece takes."""
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    counted = 0
    find = StopTable[object].find

    def counting(stops: StopTable[object], text: str, at: int) -> FoundStop[object] | None:
        nonlocal counted
        found = find(stops, text, at)
        counted += (len(text) if found is None else found.end) - at
        return found

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    monkeypatch.setattr(StopTable, "find", counting)
    Counted.copied = 0
    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        parser.parse(Counted(text))
    finally:
        sys.setprofile(profile)
    return counted + Counted.copied


A_VALUE = "<tool_call>\n<function=update_record>\n<parameter=title>\n"
A_LIST = "<tool_call>\n<function=update_record>\n<parameter=labels>\n"
P_CALL = "<tool_call>update_record\n"
P_VALUE = f"{P_CALL}<arg_key>title</arg_key>\n<arg_value>"
REPEATS = (
    ("a1-function-parameter", "", "<tool_call>\n"),
    ("a1-function-parameter", "", "<tool_call>\n<function=update_record>\n"),
    ("a1-function-parameter", A_VALUE, "<tool_call> "),
    ("a1-function-parameter", A_VALUE, "\n<parameter=title>\n"),
    ("a1-function-parameter", A_VALUE, "\n</parameter>\n"),
    ("a1-function-parameter", A_LIST, '["</parameter>\n<parameter='),
    ("a1-function-parameter", A_VALUE, "\n</function>\n</tool_call> x"),
    ("a2-key-value-tags", "", "<tool_call>"),
    ("a2-key-value-tags", "", f"{P_CALL}<arg_key>"),
    ("a2-key-value-tags", P_CALL, "<arg_key>"),
    ("a2-key-value-tags", P_CALL, "<arg_key><arg_key>title</arg_key><arg_value>x</arg_value>"),
    ("a2-key-value-tags", f"{P_CALL}<arg_key>title", "</arg_key>"),
    ("a2-key-value-tags", "", f"{P_CALL}<arg_key>title</arg_key></arg_key>"),
    ("a2-key-value-tags", "", f"{P_CALL}<arg_key>title</arg_key>x"),
    ("a2-key-value-tags", P_CALL, "<arg_key>title</arg_key>x</arg_value>"),
    ("a2-key-value-tags", "", f"{P_CALL}title</arg_key>"),
    ("a2-key-value-tags", P_VALUE, "</arg_value> x <arg_key>"),
    (
        "j1-json-in-tags",
        "",
        '<tool_call>\n{"name": "update_record", "arguments": {}}\n</tool_call>',
    ),
    ("j1-json-in-tags", "", '<tool_call>{"name": '),
    ("t5-id-carries-name", "", "<|call_begin|>functions."),
    ("p1-3-double-quotes", "", "<|tool_call_start|>[update_record("),
)


@pytest.mark.parametrize(("fixture", "head", "unit"), REPEATS)
def test_repeats_cost_what_they_are_long(
    fixture: str, head: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = SHORT // len(unit)
    first, second, fourth = (
        work(fixture, head + unit * (count * times), monkeypatch) for times in (1, 2, 4)
    )
    assert fourth - second <= MOST * (second - first), (first, second, fourth)


DENSE = (
    "Use `foo` and `bar()` or `x.y` with `z`. ",
    "Try:\n```python\nx = 1\n```\nand\n```\nls\n```\n",
    "if a < b and <b>c</b> <d x='1'/> then a<b<c. ",
    "for i in x:\n    print(i)\n\n",
)
OPENED = (
    ("j1-json-in-tags", ""),
    ("j1-json-in-tags", "<think>\n"),
    ("a1-function-parameter", A_VALUE),
)
MOST_EVENTS = 40
"""Calls and returns a delta: 6 where nothing can begin a marker, 24 to 106 by way of readers."""


@pytest.mark.parametrize("unit", DENSE)
@pytest.mark.parametrize(("fixture", "head"), OPENED)
def test_deltas_that_could_begin_a_marker_pass_by_their_reader(
    fixture: str, head: str, unit: str
) -> None:
    analysis = analysis_of(fixture)
    stream = analysis.parser(TOOLS, prompt=analysis.format.header).stream()
    stream.feed(f"{head}Some words that begin the text, so that it is one. ")
    text = (unit * SHORT)[:SHORT]
    events = 0

    def count(*_: object) -> None:
        nonlocal events
        events += 1

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        for at in range(0, SHORT, 4):
            stream.feed(text[at : at + 4])
    finally:
        sys.setprofile(profile)
    assert events <= MOST_EVENTS * SHORT / 4
