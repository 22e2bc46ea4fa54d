"""Rows: slots cut into literals, and what stands around a slot."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.call_notation import Row, Slot
from autoparser.analysis.learning.call_rows import cut_at, quotes_around


@pytest.mark.parametrize(
    ("row", "expected", "reason"),
    [
        (("<p k>v</p>",), ("<p ", Slot.KEY, ">v</p>"), "once"),
        (("<k>v</k>",), ("<", Slot.KEY, ">v</", Slot.KEY, ">"), "twice"),
        (("k=", Slot.VALUE), (Slot.KEY, "=", Slot.VALUE), "at the edge, beside another slot"),
        (("v", Slot.VALUE), ("v", Slot.VALUE), "not at all"),
        (("kk",), (Slot.KEY, Slot.KEY), "nothing between"),
    ],
)
def test_cut_at(row: Row, expected: Row, reason: str) -> None:
    assert cut_at(row, "k", Slot.KEY) == expected, reason


@pytest.mark.parametrize(
    ("row", "expected", "reason"),
    [
        (("<p ", Slot.KEY, ">"), ("<p ", ">"), "two literals"),
        (('{"', Slot.KEY, '": '), ('"', '"'), "quotes, and no more than these"),
        (("a", Slot.KEY, "a"), ("a", "a"), "letters are not quotes"),
        (("- ", Slot.KEY, " = "), ("- ", " = "), "neither is a space"),
        ((Slot.KEY, ":"), ("", ":"), "nothing before it"),
        (("x",), ("", ""), "no such slot"),
    ],
)
def test_quotes_around(row: Row, expected: tuple[str, str], reason: str) -> None:
    assert quotes_around(row, Slot.KEY) == expected, reason
