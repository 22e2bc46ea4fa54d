"""A sample of real templates, and the project's own: where their turns end.

All of them: `python -m tests.corpus --stops`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.analysis.analysis import analyze
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

from .gates import own_paths
from .stops import After, Engine, Stopped, stopped_by, stops_of_all, stops_table

BETWEEN = {"tiiuae-Falcon-H1-Tiny-Tool-Calling-90M", "GigaChat3-10B-A1.8B"}
"""What ends their turns stands between content and a call, too."""

OPEN = {"j7-4-own-tags", "reasoning-field-thinking"}
"""Nothing but whitespace stands between their calls and the next message."""


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> list[Stopped]:
    return stops_of_all([*corpus[::48], *own_paths()[::6]])


def test_every_turn_ends_where_it_is_over(sample: list[Stopped]) -> None:
    wrong = [each for each in sample if each.first and each.name not in BETWEEN | OPEN]
    assert wrong == [], stops_table(wrong)
    assert sum(each.turns[After.CONTENT] for each in sample) > 50
    assert sum(each.turns[After.CALLS] for each in sample) > 200


def test_the_judge_finds_a_stop_that_comes_too_early() -> None:
    between = turn(
        CONTENT, "{% if m.tool_calls %}<end>{% endif %}", calls(opening="<do>"), end="<end>\n"
    )
    found = stopped_by("own", analyze(between))
    assert found.wrong[After.CALLS, Engine.POSITION] > 0
    assert found.wrong[After.CONTENT, Engine.POSITION] == 0
    assert found.first in stops_table([found])


def test_the_judge_finds_a_turn_that_nothing_ends() -> None:
    template = turn(REASONING, CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n")
    analysis = analyze(template)
    assert stopped_by("own", analysis).first == ""
    bare = turn(CONTENT, end="\n")
    found = stopped_by("own", analyze(bare))
    assert found.unended[After.CONTENT] > 0
    assert found.turns[After.CONTENT] == 0
