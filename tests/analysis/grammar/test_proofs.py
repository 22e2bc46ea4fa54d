"""Every fixture's grammar accepts what the fixture writes, and allows nothing that reads badly."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.analysis.parsing.loop import analysis_of, fixture_names

from .proofs import Fault, Question, Verdict, prove, prove_gbnf, so_many, soundness

pytestmark = pytest.mark.slow

WALKS = 6
RARE = 30
"""Walks that find what is known to be unsound."""
GBNF_WALKS = 3

_UNESCAPED = "strings are written without their quotes escaped, or without quotes"
_CLOSING_SIGN = "a text may not hold the sign that closes it, though a reader sees it go on"
_ARRAY_TAGS = "an array whose items are tags of one name: its text is its own markup"

KNOWN: Mapping[tuple[str, Question], str] = {
    ("p1-3-double-quotes", Question.COMPLETE): _UNESCAPED,
    ("p1-4-unquoted", Question.COMPLETE): _UNESCAPED,
    ("arguments-type-flags", Question.COMPLETE): _CLOSING_SIGN,
    ("a6-key-is-tag", Question.COMPLETE): _ARRAY_TAGS,
}
"""What is known to go wrong, and why. Each does, or this table is wrong."""


MANY_RULES = frozenset({"a3-2-nested-wrappers", "j3-6-word-before-array", "novel-notation"})
"""Fixtures of whose long texts llguidance reads no GBNF: each sign of a close is one more rule in
another, and it takes 2,000. llama.cpp, for which GBNF is written, counts none."""


def _in_gbnf(name: str, verdict: Verdict) -> list[Fault]:
    """Return the faults of a grammar in GBNF but for those of too long texts, which are there."""
    long = [fault for fault in verdict.faults if "max is 2000" in fault.text]
    assert bool(long) == (name in MANY_RULES), "other fixtures than the table of the long says"
    return [fault for fault in verdict.faults if fault not in long]


@pytest.mark.parametrize("name", fixture_names())
def test_a_grammar_is_complete_and_sound(name: str) -> None:
    walks = RARE if (name, Question.SOUND) in KNOWN else WALKS
    verdict = prove(analysis_of(name).format, walks)
    assert verdict.asked > walks
    expected = {question for fixture, question in KNOWN if fixture == name}
    left = [fault for fault in verdict.faults if fault.question not in expected]
    assert not left, f"{len(left)} of {verdict.asked}, first: {left[0]}"
    better = expected - {fault.question for fault in verdict.faults}
    assert not better, "better than the table of the known says"


MANY_TOOLS = (
    "j1-json-in-tags",
    "a1-function-parameter",
    "a4-type-flags",
    "p1-python-lines",
    "novel-notation",
)
"""Fixtures of several notations, to be asked with one tool, with ten, with a hundred."""


@pytest.mark.parametrize("name", sorted(fixture_names()))
def test_the_same_holds_in_gbnf(name: str) -> None:
    verdict = prove_gbnf(analysis_of(name).format, GBNF_WALKS)
    assert verdict.asked > GBNF_WALKS
    expected = {question for fixture, question in KNOWN if fixture == name}
    left = [fault for fault in _in_gbnf(name, verdict) if fault.question not in expected]
    assert not left, f"{len(left)} of {verdict.asked}, first: {left[0]}"


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("name", MANY_TOOLS)
def test_the_same_holds_for_sets_of_tools(name: str, count: int) -> None:
    assert len(so_many(count).called) == count
    for each in (prove, prove_gbnf):
        verdict = each(analysis_of(name).format, GBNF_WALKS, so_many(count))
        assert verdict.asked > GBNF_WALKS
        faults = _in_gbnf(name, verdict) if each is prove_gbnf else verdict.faults
        assert not faults, f"{each.__name__}: first: {faults[0]}"


@pytest.mark.parametrize("name", ["j1-json-in-tags", "t6-function-tag-json"])
def test_a_marker_inside_a_json_string_is_text(name: str) -> None:
    faults = soundness(analysis_of(name).format, (), WALKS, hostile=True)
    assert [fault for fault in faults if fault is not None] == []


def test_a_marker_inside_a_json_string_between_tags_is_text() -> None:
    faults = soundness(analysis_of("a3-3-name-twice").format, (), WALKS, hostile=True)
    assert [fault for fault in faults if fault is not None] == []


def test_the_table_of_the_known_names_fixtures() -> None:
    assert {name for name, _ in KNOWN} <= set(fixture_names())
