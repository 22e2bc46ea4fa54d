"""Numbers that count."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from autoparser.analysis.learning.call_frame import INDEX_MARK, fill_number, mark_numbers

MARK = INDEX_MARK


@pytest.mark.parametrize(
    ("texts", "expected", "reason"),
    [
        (["a", "a", "a"], ("a", -1), "nothing counts"),
        (["a0", "a1", "a2"], (f"a{MARK}", 0), "from nought"),
        (["a1.", "a2.", "a3."], (f"a{MARK}.", 1), "from one"),
        (["9", "10", "11"], (MARK, 9), "over a digit's end"),
        (["f:0 v2", "f:1 v2"], (f"f:{MARK} v2", 0), "a number that stays is not a count"),
        (["0/0", "1/1"], (f"{MARK}/{MARK}", 0), "written twice"),
        (["a0", "a2"], None, "not by one"),
        (["a2", "a1"], None, "downwards"),
        (["a0", "b1"], None, "the words differ"),
        (["a", "a1"], None, "no number at first"),
    ],
)
def test_counted(texts: list[str], expected: tuple[str, int] | None, reason: str) -> None:
    assert mark_numbers(texts) == expected, reason


@given(st.text(st.sampled_from("ab: {}"), min_size=1), st.integers(0, 99), st.integers(2, 4))
def test_what_counts_is_numbered_again(text: str, base: int, length: int) -> None:
    texts = [f"{text}{base + at}." for at in range(length)]
    found = mark_numbers(texts)
    assert found == (f"{text}{MARK}.", base)
    assert [fill_number(found[0], base + at) for at in range(length)] == texts
