"""Every fixture's grammar accepts the fixture's turns and allows only text that parses cleanly."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.analysis.parsing.loop import analysis_of, fixture_names

from .proofs import Question, Verdict, prove, so_many

pytestmark = pytest.mark.slow

_UNESCAPED = "strings are written without their quotes escaped, or without quotes"
_CLOSING_SIGN = "a text may not hold the sign that closes it, though a reader sees it go on"
_ARRAY_TAGS = "an array whose items are tags of one name: its text is its own markup"

_UNOPENED = "nothing opens reasoning, so its closer ends it inside a call, too"

KNOWN: Mapping[str, tuple[Question, str]] = {
    "p1-3-double-quotes": (Question.COMPLETE, _UNESCAPED),
    "p1-4-unquoted": (Question.COMPLETE, _UNESCAPED),
    "arguments-type-flags": (Question.COMPLETE, _CLOSING_SIGN),
    "a6-key-is-tag": (Question.COMPLETE, _ARRAY_TAGS),
    "j3-4-tagged-array": (Question.SOUND, _UNOPENED),
}
"""The fault of each fixture whose grammar rejects some of its turns, or accepts text that is
misread, with the reason. A fixture without its fault fails the test."""


def check(name: str, verdict: Verdict) -> None:
    """Check that the faults are exactly the known ones."""
    expected = {KNOWN[name][0]} if name in KNOWN else set[Question]()
    faults = verdict.faults
    left = [fault for fault in faults if fault.question not in expected]
    assert not left, f"{len(left)} of {verdict.asked}, first: {left[0]}"
    assert expected <= {fault.question for fault in faults}, "better than the table says"


@pytest.mark.parametrize("name", fixture_names())
def test_lark_grammar_is_complete_and_sound(name: str) -> None:
    verdict = prove(analysis_of(name).format, 4)
    assert verdict.asked > 4
    check(name, verdict)


# Several notations, with 1, 10 and 100 tools.
@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "a4-type-flags"])
def test_lark_grammar_for_many_tools_is_complete_and_sound(name: str, count: int) -> None:
    assert len(so_many(count).called) == count
    verdict = prove(analysis_of(name).format, 2, so_many(count))
    assert verdict.asked > 2
    check(name, verdict)


def test_known_faults_name_existing_fixtures() -> None:
    assert KNOWN.keys() <= set(fixture_names())
