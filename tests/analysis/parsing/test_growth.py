"""Check that the work of a parser grows linearly with repeated text.

Work is counted, not timed: calls of functions, and characters that slices copy and stops search.
Compared are what the second `SHORT` characters add and what as many as both add after them: the
last 4,096 characters after what opens a key are waited for, and cost next to nothing before.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, SupportsIndex

import pytest

from autoparser.analysis.parsing.text_lookahead import FoundStop, StopTable
from tests.case_tables import load_cases
from tests.offers import tool

from .loop import TOOLS, analysis_of

pytestmark = pytest.mark.slow

SHORT, MOST = 5_000, 3
TABLE = load_cases(__file__, "growth.yaml")
OFFERED = [*TOOLS, tool("ping", {})]


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
    parser = analysis.parser(OFFERED, prompt=analysis.format.header)
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


def calls_of(
    action: Callable[[], object], counts: Callable[[FrameType, str], bool] = lambda *_: True
) -> int:
    """Count the calls and returns of functions in an action, or some of them."""
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        counted += counts(frame, event)

    profile = sys.getprofile()
    # A collection within the action would run callbacks of other tests' garbage.
    gc.disable()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(profile)
        gc.enable()
    return counted


@pytest.mark.parametrize("case", TABLE["repeats"], ids=lambda case: ascii(case["unit"]))
def test_repeated_text_costs_linear_steps(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture, head, unit = case["fixture"], case["head"], case["unit"]
    count = case.get("short", SHORT) // len(unit)
    # The first search for a lost call imports its module and compiles patterns.
    work(fixture, head + unit * 2, monkeypatch)
    first, second, fourth = (
        work(fixture, head + unit * (count * times), monkeypatch) for times in (1, 2, 4)
    )
    assert fourth - second <= MOST * (second - first), (first, second, fourth)


MOST_EVENTS = 40
"""Calls and returns a delta: 6 where nothing can begin a marker, 24 to 106 by way of readers."""


@pytest.mark.parametrize("unit", TABLE["dense"])
@pytest.mark.parametrize(("fixture", "head"), TABLE["opened"])
def test_pieces_that_may_begin_a_marker_cost_few_events(fixture: str, head: str, unit: str) -> None:
    analysis = analysis_of(fixture)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    text = (unit * SHORT)[:SHORT]
    cuts = [text[at : at + 4] for at in range(0, SHORT, 4)]

    def feed_all() -> int:
        stream = parser.stream()
        stream.feed(f"{head}Some words that begin the text, so that it is one. ")
        return calls_of(lambda: [*map(stream.feed, cuts)])

    feed_all()  # expressions that no earlier text has needed are compiled once
    assert feed_all() <= MOST_EVENTS * len(cuts)
