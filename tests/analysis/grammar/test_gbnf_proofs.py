"""Prove the GBNF grammars, in a file of their own for another test worker."""

from __future__ import annotations

import pytest

from tests.analysis.parsing.loop import analysis_of, fixture_names

from .proofs import Question, prove_gbnf, so_many
from .test_proofs import KNOWN, check

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", fixture_names())
def test_gbnf_grammar_is_complete_and_sound(name: str) -> None:
    # A text that is misread is met by chance alone: two walks miss the known one.
    walks = 8 if name in KNOWN and KNOWN[name][0] is Question.SOUND else 2
    verdict = prove_gbnf(analysis_of(name).format, walks)
    assert verdict.asked > 2
    check(name, verdict)


# Several notations, with 1, 10 and 100 tools.
@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "a4-type-flags"])
def test_gbnf_grammar_for_many_tools_is_complete_and_sound(name: str, count: int) -> None:
    verdict = prove_gbnf(analysis_of(name).format, 2, so_many(count))
    assert verdict.asked > 2
    check(name, verdict)
