"""Rows: slots cut into literals, and what stands around a slot."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.learning.call_rows import cut_at, quotes_around


@pytest.mark.parametrize(
    ("row", "expected", "reason"),
    [
        (("<p k>v</p>",), ("<p ", RowSlot.KEY, ">v</p>"), "once"),
        (("<k>v</k>",), ("<", RowSlot.KEY, ">v</", RowSlot.KEY, ">"), "twice"),
        (
            ("k=", RowSlot.VALUE),
            (RowSlot.KEY, "=", RowSlot.VALUE),
            "at the edge, beside another slot",
        ),
        (("v", RowSlot.VALUE), ("v", RowSlot.VALUE), "not at all"),
        (("kk",), (RowSlot.KEY, RowSlot.KEY), "nothing between"),
    ],
)
def test_cut_at(row: Row, expected: Row, reason: str) -> None:
    assert cut_at(row, "k", RowSlot.KEY) == expected, reason


@pytest.mark.parametrize(
    ("row", "expected", "reason"),
    [
        (("<p ", RowSlot.KEY, ">"), ("<p ", ">"), "two literals"),
        (('{"', RowSlot.KEY, '": '), ('"', '"'), "quotes, and no more than these"),
        (("a", RowSlot.KEY, "a"), ("a", "a"), "letters are not quotes"),
        (("- ", RowSlot.KEY, " = "), ("- ", " = "), "neither is a space"),
        ((RowSlot.KEY, ":"), ("", ":"), "nothing before it"),
        (("x",), ("", ""), "no such slot"),
    ],
)
def test_quotes_around(row: Row, expected: tuple[str, str], reason: str) -> None:
    assert quotes_around(row, RowSlot.KEY) == expected, reason
