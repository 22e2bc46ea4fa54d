"""Round trips over a twentieth of the corpus: no crash, and hardly a break without a cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome

from .round_trips import Played, round_trip_table, round_trips

UNEXPLAINED = 0.02
"""Of the verdicts that break, so many may be put down to no one change."""


@pytest.fixture(scope="module")
def twentieth(corpus: list[Path]) -> list[Played]:
    return round_trips(corpus[::20])


def test_nothing_crashes(twentieth: list[Played]) -> None:
    assert [each.crash for each in twentieth if each.crash] == []


def test_breaks_have_causes(twentieth: list[Played]) -> None:
    causes = [cause for each in twentieth for _, _, cause in each.verdicts]
    broken = [cause for cause in causes if cause != Outcome.HOLDS]
    assert len(broken) > len(twentieth)
    assert broken.count(str(Cause.REWRITTEN)) <= UNEXPLAINED * len(broken)


def test_the_table_counts_every_verdict(twentieth: list[Played]) -> None:
    lines = round_trip_table(twentieth).splitlines()
    counted = sum(int(line.split()[0]) for line in lines if line.endswith(" templates"))
    assert counted == sum(len(each.verdicts) for each in twentieth)
