from __future__ import annotations

import pytest

from autoparser.analysis.lint.marker_pairs import marker_balance

TABLE = [
    ("<a>x</a>", 1, 1, "a tag"),
    ("[ASK]x[/ASK]", 1, 1, "square brackets"),
    ("<|a|>x<|/a|>", 1, 1, "a slash behind the bar"),
    ("<|turn_start|>x<|turn_end|>", 1, 1, "a word for each end, last"),
    ("<begin_of_turn>x<end_of_turn>", 1, 1, "a word for each end, first"),
    ("<a>x", 1, 0, "an opening marker alone"),
    ("x</a>", 0, 1, "a closing marker alone"),
    ("<a=1>x</a>", 1, 1, "an opening tag that says more"),
    ("1 < 2 and 3 > 2", 0, 0, "no marker"),
]


@pytest.mark.parametrize(("text", "opened", "closed", "reason"), TABLE)
def test_markers_are_counted_by_pair(text: str, opened: int, closed: int, reason: str) -> None:
    found = marker_balance(text)
    assert (found.opened.total(), found.closed.total()) == (opened, closed), reason
    assert len(found.opened | found.closed) <= 1, "both belong to one pair"


def test_what_is_named_is_left_out() -> None:
    assert not marker_balance("<a>x</a>", but={"<a>", "</a>"}).spelled
