"""What real templates write is read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from .closed_loop import AMBIGUOUS, ENOUGH, Loop, loop_table, loops

LEAST_GOOD = 0.99
"""Of all messages, those of the templates that cannot do better included."""


@pytest.fixture(scope="module")
def rounds(corpus: list[Path]) -> list[Loop]:
    return loops(corpus)


def test_every_template_gives_its_messages_back(rounds: list[Loop]) -> None:
    short = [each for each in rounds if not each.ok and not each.cause]
    lines = [f"{each.name}: {each.good} of {each.total}, {each.titles[0]}" for each in short]
    assert not short, "\n".join([*lines, short[0].first])


def test_almost_all_messages_come_back(rounds: list[Loop]) -> None:
    assert len(rounds) >= 760
    good = sum(each.good for each in rounds)
    assert good >= LEAST_GOOD * sum(each.total for each in rounds)


def test_nothing_crashes(rounds: list[Loop]) -> None:
    assert not [each.name for each in rounds if "crash:" in each.first]


def test_the_table_of_causes_holds_no_template_that_does_better(rounds: list[Loop]) -> None:
    by_name = {each.name: each for each in rounds}
    assert set(AMBIGUOUS) <= set(by_name)
    better = [name for name in AMBIGUOUS if by_name[name].ok]
    assert not better, f"at least {ENOUGH:.0%} of their messages come back: {better}"


def test_the_printed_table_names_those_with_a_cause(rounds: list[Loop]) -> None:
    text = loop_table(rounds)
    assert [name for name in AMBIGUOUS if name not in text] == []
