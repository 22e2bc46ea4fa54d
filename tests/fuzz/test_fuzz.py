"""A small sample of what `python -m tests.fuzz` does a million times."""

from __future__ import annotations

import pytest

from tests.lanes import sampled

from .__main__ import OWN, fuzz

PATHS = sorted(path for folder in OWN for path in folder.glob("*.jinja"))
SLICES = 8


@pytest.mark.parametrize("part", sampled(range(SLICES), 3))
def test_nothing_spoiled_makes_a_parser_raise_or_disagree_with_itself(part: int) -> None:
    paths = PATHS[part::SLICES]
    done, finds = fuzz(paths, edits=60 * len(paths), seed=7)
    assert done == 60 * len(paths)
    assert not finds, "\n".join(map(str, finds[:3]))
