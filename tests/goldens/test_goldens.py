"""The answers about each template equal the recorded ones."""

from __future__ import annotations

import pytest

from tests.lanes import sampled

from .golden_answers import CORPUS, template_paths
from .golden_file import differences, golden_digests

LANES = 48
"""Every 48th template is asked in the quick lane, and others in the slow one.
`python -m tests.goldens` asks them all, in five minutes."""


@pytest.mark.parametrize("lane", sampled(range(LANES), LANES))
def test_answers_about_every_template_equal_the_goldens(lane: int) -> None:
    # Lanes are cut from the file's lines, so they do not depend on installed templates.
    there = template_paths()
    names = [name for name in list(golden_digests())[lane::LANES] if name in there]
    difference = differences(names)
    assert not difference, f"\n{difference}"


def test_every_template_has_a_golden_line() -> None:
    golden, there = set(golden_digests()), set(template_paths())
    assert there <= golden, "these are new: python -m tests.goldens --write"
    gone = {name for name in golden - there if not name.startswith(CORPUS)}
    assert not gone, "these are gone: python -m tests.goldens --write"
