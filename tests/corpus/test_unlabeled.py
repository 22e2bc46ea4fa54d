"""Formats learned from unlabeled outputs, on own templates: read alike, and spoiled ones named."""

from __future__ import annotations

from pathlib import Path

import pytest

from .unlabeled import unlabeled_readings

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["novel/keywords", "novel/elements-by-type"])
def test_twenty_outputs_show_a_format_and_spoiled_ones_are_named(name: str) -> None:
    found = unlabeled_readings(FIXTURES / f"{name}.jinja", noise=True, counts=(20,))
    assert found is not None
    assert found.own.enough
    (twenty,) = found.learned
    assert twenty.enough, twenty.missed
    assert twenty.odd == twenty.named > 0
