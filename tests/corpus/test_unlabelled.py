"""Formats learnt from unlabelled outputs, on own templates: read alike, and spoilt ones named."""

from __future__ import annotations

from pathlib import Path

import pytest

from .unlabelled import unlabelled_readings

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["templates/j6-numbered-calls", "novel/keywords", "novel/elements-by-type"]
)
def test_twenty_outputs_show_a_format_and_spoilt_ones_are_named(name: str) -> None:
    found = unlabelled_readings(FIXTURES / f"{name}.jinja", noise=True, counts=(20,))
    assert found is not None
    assert found.analysed.enough
    (twenty,) = found.learnt
    assert twenty.enough, twenty.missed
    assert twenty.odd == twenty.named > 0
