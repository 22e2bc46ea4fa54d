"""The real templates: each ends in an analysis or in one clear line, most reproduce themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .__main__ import table
from .outcomes import Ending, Outcome

TEMPLATES = 786
MOST_RENDERS = 1500
"""A bound on the work, in place of one on the time: renders take 40 µs in the median."""

RENDER_CALLS, PASS_WITH_CALLS = 381, 362
RENDER_REASONING, PASS_WITH_REASONING = 213, 203
"""The numbers of an earlier count, by other probes, and how many of these have to pass."""


def names(outcomes: list[Outcome]) -> str:
    return "\n".join(f"{each.name}: {each.cause} {each.message}" for each in outcomes)


def test_the_corpus_is_whole(surveyed: list[Outcome]) -> None:
    assert len(surveyed) == TEMPLATES


def test_every_template_ends_in_an_analysis_or_a_line(surveyed: list[Outcome]) -> None:
    crashed = [each for each in surveyed if each.ending is Ending.CRASHED]
    assert not crashed, names(crashed)
    unusable = [each for each in surveyed if each.ending is Ending.UNUSABLE]
    wordy = [each for each in unusable if not each.message.isprintable() or not each.message]
    assert not wordy, names(wordy)


def test_the_work_is_bounded(surveyed: list[Outcome]) -> None:
    dear = [each for each in surveyed if each.renders > MOST_RENDERS]
    assert not dear, names(dear)


def test_a_verdict_counts_every_message(surveyed: list[Outcome]) -> None:
    judged = [each for each in surveyed if each.ending in (Ending.PASSED, Ending.FAILED)]
    assert {each.total for each in judged} == {judged[0].total}
    assert judged[0].total >= 40
    assert all((each.passed == each.total) is (each.ending is Ending.PASSED) for each in judged)


def test_the_probes_agree_with_the_earlier_count(surveyed: list[Outcome]) -> None:
    assert 375 <= sum(each.shows_call for each in surveyed) <= RENDER_CALLS + 6
    assert 205 <= sum(each.shows_reasoning for each in surveyed) <= RENDER_REASONING + 8


def test_templates_that_render_calls_pass(surveyed: list[Outcome]) -> None:
    showing = [each for each in surveyed if each.shows_call]
    # A format without calls that passes has only been refused, or has lost them.
    passing = [each for each in showing if each.ending is Ending.PASSED and each.writes_calls]
    left = [each for each in showing if each not in passing]
    assert len(passing) >= PASS_WITH_CALLS, names(left)


def test_templates_that_render_reasoning_pass(surveyed: list[Outcome]) -> None:
    showing = [each for each in surveyed if each.shows_reasoning]
    passing = [each for each in showing if each.ending is Ending.PASSED and each.writes_reasoning]
    left = [each for each in showing if each not in passing]
    assert len(passing) >= PASS_WITH_REASONING, names(left)


def test_the_table_names_every_template_that_did_not_pass(surveyed: list[Outcome]) -> None:
    text = table(surveyed)
    left = [each.name for each in surveyed if each.ending is not Ending.PASSED]
    assert left
    assert [name for name in left if name not in text] == []


SAMPLE = 40


def digests(paths: list[Path], seed: str) -> list[str]:
    """Analyse in a process of its own, under this hash seed."""
    script = Path(__file__).parent / "digest.py"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(script), *map(str, paths)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_two_processes_find_the_same(corpus: list[Path]) -> None:
    sample = corpus[:: len(corpus) // SAMPLE]
    one, other = digests(sample, "1"), digests(sample, "2")
    assert len(one) == len(sample) >= SAMPLE
    assert one == other
