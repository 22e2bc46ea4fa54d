"""Strips: the pieces of a turn are its text, and as many are reused as the verdict says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.overview.portrait import Portrait, portray_template
from tests.analysis.history.vocabularies import tiny
from tests.fixture_analyses import analysed

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[3] / "fixtures" / "templates"
MARKERS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
NAMES = (
    "roles-alternate",
    "history-last-query",
    "j3-json-array",
    "t8-recipient-lines",
    "a7-token-pairs",
)


@cache
def portrait(name: str, vocabulary: str) -> Portrait:
    analysis = analysed(name)
    tokenizer = tiny(*MARKERS) if vocabulary == "tiny" else None
    return portray_template(analysis, tokenizer=tokenizer)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("vocabulary", ["none", "tiny"])
def test_the_pieces_are_the_text(name: str, vocabulary: str) -> None:
    found = portrait(name, vocabulary)
    for row, strip in zip(found.round_trip.rows, found.strips, strict=True):
        assert "".join(strip.pieces) == row.verdict.sampled
        assert strip.tokens == (vocabulary != "none")
        assert 0 <= strip.reused <= len(strip.pieces)
        assert 0 <= strip.lead_reused <= len(strip.lead)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_are_reused_as_the_verdict_says(name: str) -> None:
    found = portrait(name, "tiny")
    for row, strip in zip(found.round_trip.rows, found.strips, strict=True):
        tokens = row.verdict.tokens
        if tokens is None:
            assert row.verdict.outcome is Outcome.RAISES
            continue
        assert (strip.reused, len(strip.pieces)) == (tokens.reused, tokens.sampled)
        assert bool(strip.instead) == (not tokens.holds)


def test_without_a_tokenizer_what_breaks_is_where_the_texts_part() -> None:
    found = portrait("history-last-query", "none")
    for row, strip in zip(found.round_trip.rows, found.strips, strict=True):
        assert row.verdict.holds == (strip.reused == len(strip.pieces))


def test_what_the_next_prompt_has_instead_is_whole_tokens() -> None:
    found = portrait("history-last-query", "tiny")
    rows = zip(found.round_trip.rows, found.strips, strict=True)
    strip = next(s for row, s in rows if (row.scenario.name, row.next) == ("tool call", "later"))
    assert strip.instead[0] == "<tool_call>"
    assert strip.lead[-2:] == ("<think>", "\n")
