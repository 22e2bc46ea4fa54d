"""Ranking parsers that are known to be good and bad."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autoparser import Analysis, analyze, load_template
from autoparser.analysis.engines.engine_process import EngineProcess, ParserPair
from autoparser.analysis.engines.engine_ranking import TextDelivery, asked_texts, rank_parsers

ROOT = Path(__file__).parents[3]


@cache
def tags() -> Analysis:
    return analyze(load_template(ROOT / "fixtures/templates/j1-json-in-tags.jinja"))


@pytest.fixture(autouse=True)
def _engines(fake_engines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake_engines
    # Their ends are tried elsewhere, and take their time.
    monkeypatch.setenv("FAKE_WITHOUT", "dying looping sleeping")


def test_the_best_pair_reads_everything_and_others_fail_where_they_must() -> None:
    with EngineProcess("sglang") as process:
        ranking = rank_parsers(process, tags(), asked_texts(tags()))
    assert (len(ranking.offered.tools), len(ranking.offered.reasoning)) == (9, 2)
    assert ranking.best.pair == ParserPair("careful", "tags")
    assert ranking.best.all_right
    assert ranking.best.failure is None
    scores = {each.pair: each for each in ranking.pairs}
    quick = scores[ParserPair("quick", "tags")]
    assert quick.failure is not None
    assert quick.failure.delivery is TextDelivery.WHOLE
    assert "</tool_call>" in quick.failure.title
    assert not quick.all_right
    # Without a parser of reasoning, the markup stays in the content.
    without = scores[ParserPair("careful", None)]
    assert without.failure is not None
    assert without.failure.verdict.part == "reasoning"
    assert without.total - without.whole.right == sum(
        bool(each.meant.reasoning) for each in asked_texts(tags()).texts
    )
    assert ("quick", "quick_too") in ranking.alike
    assert {each.name for each in ranking.unusable} == {"dying", "looping", "sleeping"}


def test_what_auto_chooses_is_judged_like_all_others() -> None:
    with EngineProcess("sglang") as process:
        ranking = rank_parsers(process, tags(), asked_texts(tags()))
    assert ranking.auto is not None
    assert ranking.auto.pair == ParserPair("quick", "greedy")
    assert ranking.auto.failure is not None
    # It takes every answer for reasoning, so that what has none but that is all it reads.
    assert ranking.auto.whole.right < ranking.best.whole.right


def test_parsers_that_look_at_tokens_find_their_markers() -> None:
    with EngineProcess("vllm") as process:
        ranking = rank_parsers(process, tags(), asked_texts(tags()))
    assert ranking.auto is None
    assert ranking.best.pair == ParserPair("careful", "tags")
    assert ranking.best.all_right
    assert [each.reason for each in ranking.unusable] == ["ImportError: something is not installed"]
