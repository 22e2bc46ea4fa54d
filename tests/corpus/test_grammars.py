"""A sample of the real templates has grammars that are complete and sound.

All of them, with more walks: `python -m tests.corpus --grammar`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .grammars import CAUSES, ENOUGH, Proof, proof_table, proofs

EVERY, WALKS = 8, 2


@pytest.fixture(scope="module")
def proved(corpus: list[Path]) -> list[Proof]:
    return proofs(corpus[::EVERY], WALKS)


def test_enough_grammars_hold(proved: list[Proof]) -> None:
    assert len(proved) >= 90
    assert sum(each.ok for each in proved) >= ENOUGH * len(proved), proof_table(proved)


def test_those_that_do_not_have_a_cause(proved: list[Proof]) -> None:
    short = [each for each in proved if not each.ok and not each.cause]
    assert not short, proof_table(short)


def test_the_causes_name_templates(corpus: list[Path]) -> None:
    assert set(CAUSES) <= {path.stem for path in corpus}
