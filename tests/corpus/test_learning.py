"""Formats learned from examples, on own templates: what is read, and which examples are odd."""

from __future__ import annotations

from pathlib import Path

import pytest

from .learning import readings

FIXTURES = Path(__file__).parents[2] / "fixtures"
PATHS = [
    FIXTURES / "templates" / "a4-type-flags.jinja",
    FIXTURES / "templates" / "j6-numbered-calls.jinja",
    FIXTURES / "novel" / "arrows.jinja",
    FIXTURES / "novel" / "elements-by-type.jinja",
    FIXTURES / "novel" / "names-are-tags.jinja",
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_five_chosen_examples_read_what_the_template_writes(path: Path) -> None:
    found = readings(path, seed=1, counts=(5,))
    assert found is not None
    assert found.own.enough
    five = next(each for each in found.learned if each.chosen)
    assert five.enough, five.missed


@pytest.mark.parametrize("path", PATHS[:3], ids=lambda path: path.stem)
def test_spoiled_examples_are_named(path: Path) -> None:
    found = readings(path, seed=1, noise=True, counts=(20,))
    assert found is not None
    twenty = next(each for each in found.learned if each.chosen)
    assert twenty.odd == twenty.named == 2
    assert twenty.enough, twenty.missed
