"""Repeats meant to make a parser slow: twice as many more characters are about twice the work more.

Work is counted, not timed: calls of functions, and characters that slices copy and stops search.
Compared are what the second `SHORT` characters add and what as many as both add after them: the
last 4,096 characters after what opens a key are waited for, and cost next to nothing before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
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

    monkeypatch.setattr(StopTable, "find", counting)
    Counted.copied = 0
    return calls_of(lambda: parser.parse(Counted(text))) + counted + Counted.copied


def calls_of(action: Callable[[], object]) -> int:
    """Count the calls and returns of functions in an action."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(profile)
    return counted


CALL, P_CALL = "<tool_call>\n<function=update_record>\n", "<tool_call>update_record\n"
A_VALUE, A_LIST = f"{CALL}<parameter=title>\n", f"{CALL}<parameter=labels>\n"
P_VALUE = f"{P_CALL}<arg_key>title</arg_key>\n<arg_value>"
A, P, J = "a1-function-parameter", "a2-key-value-tags", "j1-json-in-tags"
REPEATS = (
    (A, "", "<tool_call>\n"),
    (A, "", CALL),
    (A, A_VALUE, "<tool_call> "),
    (A, A_VALUE, "\n<parameter=title>\n"),
    (A, A_VALUE, "\n</parameter>\n"),
    (A, A_LIST, '["</parameter>\n<parameter='),
    (A, A_VALUE, "\n</function>\n</tool_call> x"),
    (P, "", "<tool_call>"),
    (P, "", f"{P_CALL}<arg_key>"),
    (P, P_CALL, "<arg_key>"),
    (P, P_CALL, "<arg_key><arg_key>title</arg_key><arg_value>x</arg_value>"),
    (P, f"{P_CALL}<arg_key>title", "</arg_key>"),
    (P, "", f"{P_CALL}<arg_key>title</arg_key></arg_key>"),
    (P, "", f"{P_CALL}<arg_key>title</arg_key>x"),
    (P, P_CALL, "<arg_key>title</arg_key>x</arg_value>"),
    (P, "", f"{P_CALL}title</arg_key>"),
    (P, P_VALUE, "</arg_value> x <arg_key>"),
    (J, "", '<tool_call>\n{"name": "update_record", "arguments": {}}\n</tool_call>'),
    (J, "", '<tool_call>{"name": '),
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
    (J, ""),
    (J, "<think>\n"),
    (A, A_VALUE),
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
    cuts = [text[at : at + 4] for at in range(0, SHORT, 4)]
    assert calls_of(lambda: [*map(stream.feed, cuts)]) <= MOST_EVENTS * len(cuts)
