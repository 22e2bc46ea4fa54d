"""Run the boards on samples of the corpus and on the project's own templates.

`python -m tests.corpus` with the named option runs a board on all templates.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.registry import find_rule, run_check
from autoparser.analysis.lint.subject import Subject

from .closed_loop import PROVED, proofs_board
from .corpus_templates import FIXTURES, of_sound, own_paths, read_template
from .free_answers import FREE
from .gates import GATES, Gated
from .learning import LearnedReadings, example_readings, output_readings
from .lints import AGREEMENT, LINTS
from .planted import PLANTED, plant_bugs
from .rendering import KINDS, RENDERS
from .round_trips import ROUND_TRIPS, Played
from .turn_judges import STOPS, TAGS, After, Question, Wish, triggers_board

UNEXPLAINED = 0.02
"""Of the verdicts that break, so many may be put down to no one change."""


@pytest.fixture(scope="module")
def gated(corpus: list[Path]) -> list[Gated]:  # --gate
    return GATES.answers([*corpus[::24], *own_paths()[::12]])


def test_gate_failures_all_have_a_known_cause(gated: list[Gated]) -> None:
    assert all(map(GATES.passes, gated)), GATES.table(gated)
    asked = sum(row.counts["asked"] for row in gated)
    assert asked > 150
    assert sum(row.counts["passed"] for row in gated) >= 0.95 * asked


def test_grammars_accept_template_output_and_allow_only_readable_text(
    corpus: list[Path],
) -> None:  # --grammar
    board = proofs_board(2)
    proved = board.answers(corpus[::16])
    assert len(proved) >= 45
    assert sum(row.ok for row in proved) >= PROVED * len(proved), board.table(proved)
    short = [row for row in proved if not row.ok and not row.cause]
    assert not short, board.table(short)


@pytest.fixture(scope="module")
def trips(corpus: list[Path]) -> list[Played]:
    return ROUND_TRIPS.answers(corpus[::40])


def test_round_trips_break_for_known_causes(trips: list[Played]) -> None:  # --roundtrip
    assert [trip.crash for trip in trips if trip.crash] == []
    causes = [cause for trip in trips for cause in trip.causes]
    broken = [cause for cause in causes if cause != Outcome.HOLDS]
    assert len(broken) > len(trips)
    assert broken.count(str(Cause.REWRITTEN)) <= UNEXPLAINED * len(broken)
    lines = ROUND_TRIPS.table(trips).splitlines()
    assert sum(int(line.split()[0]) for line in lines if line.endswith(" templates")) == len(causes)


def test_texts_are_attributed_and_bridges_keep_the_prefix(corpus: list[Path]) -> None:  # --render
    paths = corpus[::48]
    found = RENDERS.answers(paths, 1)
    assert sum(row.faults is not None for row in found) > len(paths) // 2
    assert all(map(RENDERS.passes, found)), RENDERS.table(found)
    assert all(sum(row.rounds[name].counts["turns"] for row in found) for name in KINDS)
    kept = [row.rounds["reasoning, all kept"] for row in found]
    assert sum(row.counts["bridges"] > 0 for row in kept) >= 0.9 * len(kept)


ENDED_BETWEEN = {"tiiuae-Falcon-H1-Tiny-Tool-Calling-90M", "GigaChat3-10B-A1.8B"}
"""The end of their turns also occurs between content and a call."""
NEVER_ENDED = {"j7-4-own-tags", "reasoning-field-thinking"}
"""Nothing but whitespace stands between their calls and the next message."""


def test_every_turn_ends_at_its_stop(corpus: list[Path]) -> None:  # --stops
    found = STOPS.answers([*corpus[::96], *own_paths()[::12]])
    known = ENDED_BETWEEN | NEVER_ENDED
    wrong = [row for row in found if row.first and row.name not in known]
    assert wrong == [], STOPS.table(wrong)
    assert sum(row.turns[After.CONTENT] for row in found) > 25
    assert sum(row.turns[After.CALLS] for row in found) > 100


def test_every_trigger_begins_only_calls(corpus: list[Path]) -> None:  # --triggers
    paths = [*corpus[::32], *own_paths()[::2]]
    board = triggers_board(paths)
    found = board.answers(paths)
    wrong = [row for row in found if not row.ok and (row.called or not row.refused)]
    assert wrong == [], board.table(wrong)
    assert sum(row.called for row in found) > 1500
    assert sum(row.uncalled for row in found) > 3000


def test_auto_grammar_accepts_readable_text_around_calls(corpus: list[Path]) -> None:  # --free
    found = FREE.answers(corpus[::40])
    assert [row.name for row in found if row.lost and not row.cause] == []
    assert sum(row.read.total() for row in found) > 1500


OVERLAPPING = {"names-are-tags"}
"""GBNF misses a closer of a raw value that begins within another text that ends it."""


@pytest.mark.skipif(find_spec("xgrammar") is None, reason="xgrammar is not installed")
def test_tags_accept_allowed_answers_and_refuse_others(
    corpus: list[Path],
) -> None:  # --structural-tags
    found = TAGS.answers([*corpus[::96], *own_paths()[::8]])
    wrong = [row for row in found if not row.ok and row.name not in OVERLAPPING]
    assert wrong == [], TAGS.table(wrong)
    for wish in Wish:
        assert sum(row.asked[wish, Question.TAKES] for row in found) > 100
    for wish in (Wish.REQUIRED, Wish.ALONE, Wish.NAMED):
        assert sum(row.asked[wish, Question.REFUSES] for row in found) > 50


LEARNED = ("templates/a4-type-flags", "templates/j6-numbered-calls", "novel/arrows")
MORE = ("novel/elements-by-type", "novel/names-are-tags")


def learned(learn: Any, name: str, **options: Any) -> LearnedReadings:
    found = of_sound(partial(learn, **options), calling=True)(FIXTURES / f"{name}.jinja")
    assert isinstance(found, LearnedReadings)
    return found


@pytest.mark.parametrize("name", [*LEARNED, *MORE])
def test_five_chosen_examples_teach_the_template_format(name: str) -> None:  # --learn
    found = learned(example_readings, name, counts=(5,))
    assert found.own.enough
    assert found.learned["5 chosen"].enough, found.learned["5 chosen"].missed


@pytest.mark.parametrize(
    ("learn", "name", "way"),
    [
        *((example_readings, name, "20 chosen") for name in LEARNED),
        *((output_readings, name, "20") for name in ("novel/keywords", "novel/elements-by-type")),
    ],
)
def test_format_is_learned_from_twenty_texts_and_malformed_ones_are_named(
    learn: Any, name: str, way: str
) -> None:  # --learn --noise, and with --outputs
    found = learned(learn, name, noise=True, counts=(20,))
    assert found.own.enough
    twenty = found.learned[way]
    assert twenty.enough, twenty.missed
    assert twenty.odd == twenty.named > 0


CHECKED: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((FIXTURES.parent / "tests/analysis/lint/checked").glob("*.yaml"))
}
"""By rule, the templates in which a person has confirmed its error."""


def is_error(code: str, subject: Subject) -> bool:
    rule = find_rule(code)
    hits = run_check(rule, subject) if subject.has(rule.needs) else ()
    return Severity.ERROR in {hit.severity or rule.severity for hit in hits}


@pytest.mark.parametrize("code", CHECKED)
def test_checked_errors_are_still_found(code: str, corpus: list[Path]) -> None:
    files = {path.stem: path for path in corpus}
    seen = {str(hit["template"]) for hit in CHECKED[code]["hits"]}
    assert [name for name in seen if not is_error(code, Subject(read_template(files[name])))] == []


def test_corpus_has_only_reviewed_lint_errors(corpus: list[Path]) -> None:
    # For these rules, a person has reviewed every error in the corpus.
    wholes = [code for code, row in CHECKED.items() if row["whole"]]
    subjects = {path.stem: Subject(read_template(path)) for path in corpus[::20]}
    seen = {(code, str(hit["template"])) for code in wholes for hit in CHECKED[code]["hits"]}
    found = {(code, name) for code in wholes for name in subjects if is_error(code, subjects[name])}
    assert found == {(code, name) for code, name in seen if name in subjects}
    assert found, "the sample would show nothing"


def test_lint_inspects_every_template(corpus: list[Path]) -> None:  # --lint
    found = [template.run for template in LINTS.answers(corpus[::40])]
    assert [problem.message for run in found for problem in run.problems] == []
    looked_at = [Path(template.path).stem for run in found for template in run.templates]
    assert looked_at == [path.stem for path in corpus[::40]]


@pytest.mark.slow
def test_failed_analyses_have_lint_errors(corpus: list[Path]) -> None:  # --agree
    found = AGREEMENT.answers([*corpus[::80], *own_paths()[::12]])
    assert all(map(AGREEMENT.passes, found)), AGREEMENT.table(found)
    assert any(row.failure for row in found)


@pytest.mark.slow
def test_lint_finds_most_bugs_planted_by_blind_operators(
    corpus: list[Path],
) -> None:  # python -m tests.corpus.planted
    sample = plant_bugs(corpus, seed=7, wanted=24, hosts=6)
    found = PLANTED.answers(sorted(sample.bugs, key=lambda row: row.host), 1)
    bugs = [row for row in found if not row.bug.whitespace]
    assert len(bugs) >= 18
    assert len({bug.bug.operator for bug in bugs}) >= 6
    named = sum(map(PLANTED.passes, bugs))
    assert named >= 0.8 * len(bugs), PLANTED.table(found)
