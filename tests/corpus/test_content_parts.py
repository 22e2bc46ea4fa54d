"""A sample of real templates; all of them: `python -m tests.corpus --parts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .content_parts import JudgedParts, parts_of_all, parts_table


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> list[JudgedParts]:
    return parts_of_all(corpus[::16])


def test_transformers_renders_parts_as_the_analysis_says(sample: list[JudgedParts]) -> None:
    assert [each for each in sample if each.faults] == [], parts_table(sample)
    assert sum(each.asked for each in sample) > 200
    assert sum(bool(each.parts.written) for each in sample) > 5
