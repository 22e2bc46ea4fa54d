"""The rows that a strict writer may write after a prompt."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.format import Part
from autoparser.analysis.reading.expression import build, request_of
from tests.analysis.reading.parsing.loop import TOOLS, analysis_of


@pytest.mark.parametrize(
    ("fixture", "empty"),
    [
        ("j1-json-in-tags", True),
        # Its prompt begins a recipient, which an empty turn does not have.
        ("t8-recipient-lines", False),
    ],
)
def test_an_empty_turn_is_a_row_where_the_prompt_leads_to_one(fixture: str, empty: bool) -> None:
    turn = build(analysis_of(fixture).formats, request_of(TOOLS))
    rows = [row for row in turn.strict.rows if not any(map(row.has, Part))]
    assert any(not row.items for row in rows) is empty
