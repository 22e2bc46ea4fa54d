"""Samples of the corpus and the project's own templates, by every board that has no other test.

All templates, with more questions: `python -m tests.corpus` with the option that is named.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome

from .content_parts import PARTS
from .corpus_templates import own_paths
from .grammars import ENOUGH, proofs_board
from .rendering import KINDS, surveyed
from .round_trips import ROUND_TRIPS, Played
from .stops import STOPS, After
from .structural_tags import TAGS, Question, Wish
from .triggers import triggers_board

UNEXPLAINED = 0.02
"""Of the verdicts that break, so many may be put down to no one change."""


def test_grammars_accept_what_templates_write_and_allow_only_what_is_read(
    corpus: list[Path],
) -> None:  # --grammar
    board = proofs_board(2)
    proved = board.answers(corpus[::8])
    assert len(proved) >= 90
    assert sum(each.ok for each in proved) >= ENOUGH * len(proved), board.table(proved)
    short = [each for each in proved if not each.ok and not each.cause]
    assert not short, board.table(short)


def test_transformers_renders_parts_as_the_analysis_says(corpus: list[Path]) -> None:  # --parts
    found = PARTS.answers(corpus[::16])
    assert [each for each in found if each.faults] == [], PARTS.table(found)
    assert sum(each.asked for each in found) > 200
    assert sum(bool(each.parts.written_media) for each in found) > 5


@pytest.fixture(scope="module")
def trips(corpus: list[Path]) -> list[Played]:
    return ROUND_TRIPS.answers(corpus[::20])


def test_round_trips_break_for_known_causes(trips: list[Played]) -> None:  # --roundtrip
    assert [each.crash for each in trips if each.crash] == []
    causes = [cause for each in trips for _, _, cause in each.verdicts]
    broken = [cause for cause in causes if cause != Outcome.HOLDS]
    assert len(broken) > len(trips)
    assert broken.count(str(Cause.REWRITTEN)) <= UNEXPLAINED * len(broken)


def test_the_table_of_round_trips_counts_every_verdict(trips: list[Played]) -> None:
    lines = ROUND_TRIPS.table(trips).splitlines()
    counted = sum(int(line.split()[0]) for line in lines if line.endswith(" templates"))
    assert counted == sum(len(each.verdicts) for each in trips)


def test_texts_are_their_messages_and_bridges_keep_what_stands(
    corpus: list[Path],
) -> None:  # --render
    paths = corpus[::24]
    found = [each for each in map(surveyed, paths) if each is not None]
    rendered = [each.attribution for each in found if each.attribution.rendered]
    assert len(rendered) > len(paths) // 2
    assert [(each.name, each.faults) for each in rendered if each.faults] == []
    for name in KINDS:
        rounds = [each.rounds[name] for each in found]
        assert sum(each.turns for each in rounds) > 0
        assert [each.name for each in rounds if each.bridge_breaks or each.silent] == []
    kept = [each.rounds["reasoning, all kept"] for each in found]
    assert sum(each.answered > 0 for each in kept) >= 0.9 * len(kept)


ENDED_BETWEEN = {"tiiuae-Falcon-H1-Tiny-Tool-Calling-90M", "GigaChat3-10B-A1.8B"}
"""What ends their turns stands between content and a call, too."""
NEVER_ENDED = {"j7-4-own-tags", "reasoning-field-thinking"}
"""Nothing but whitespace stands between their calls and the next message."""


def test_every_turn_ends_where_it_is_over(corpus: list[Path]) -> None:  # --stops
    found = STOPS.answers([*corpus[::48], *own_paths()[::6]])
    known = ENDED_BETWEEN | NEVER_ENDED
    wrong = [each for each in found if each.first and each.name not in known]
    assert wrong == [], STOPS.table(wrong)
    assert sum(each.turns[After.CONTENT] for each in found) > 50
    assert sum(each.turns[After.CALLS] for each in found) > 200


def test_every_trigger_begins_calls_and_nothing_else(corpus: list[Path]) -> None:  # --triggers
    paths = [*corpus[::16], *own_paths()]
    board = triggers_board(paths)
    found = board.answers(paths)
    wrong = [each for each in found if not each.ok and (each.called or not each.refused)]
    assert wrong == [], board.table(wrong)
    assert sum(each.called for each in found) > 3000
    assert sum(each.uncalled for each in found) > 6000


OVERLAPPING = {"names-are-tags"}
"""Of what closes a raw value GBNF misses one that begins within another text that ends it."""


@pytest.mark.skipif(find_spec("xgrammar") is None, reason="xgrammar is not installed")
def test_tags_take_what_a_request_allows_and_refuse_the_rest(
    corpus: list[Path],
) -> None:  # --structural-tags
    found = TAGS.answers([*corpus[::48], *own_paths()[::4]])
    wrong = [each for each in found if not each.ok and each.name not in OVERLAPPING]
    assert wrong == [], TAGS.table(wrong)
    for wish in Wish:
        assert sum(each.asked[wish, Question.TAKES] for each in found) > 200
    for wish in (Wish.REQUIRED, Wish.ALONE, Wish.NAMED):
        assert sum(each.asked[wish, Question.REFUSES] for each in found) > 100
