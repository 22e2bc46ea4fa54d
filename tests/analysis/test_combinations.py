"""Random combinations of format parts: each must reproduce itself.

Every way to write a call meets wrappers, reasoning, contents and frames that it was not made for.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from tests.analysis.tiny import calls, turn
from tests.case_tables import load_cases

pytestmark = pytest.mark.slow

PARTS: dict[str, Any] = load_cases(__file__, "template_parts.yaml")
KINDS = ("calls", "sections", "reasoning", "contents", "frames")
SIZE = 240
FIRST = 160
"""How many of them are asked; each part of each kind is among them."""


def drawn() -> list[tuple[str, int, int, int, int, bool]]:
    """Draw combinations: the name of a call, the places of other parts, and whether calls lead."""
    every = product(PARTS["calls"], *(range(len(PARTS[kind])) for kind in KINDS[1:]), (False, True))
    return random.Random(7).sample(list(every), SIZE)


def test_first_combinations_cover_every_part() -> None:
    for at, kind in enumerate(KINDS):
        assert len({combination[at] for combination in drawn()[:FIRST]}) == len(PARTS[kind])


@pytest.mark.parametrize(
    ("style", "section", "reasoning", "content", "frame", "calls_first"), drawn()[:FIRST]
)
def test_combination_of_parts_reproduces_itself(
    style: str, section: int, reasoning: int, content: int, frame: int, calls_first: bool
) -> None:
    opening, separator, close = PARTS["sections"][section]
    call = PARTS["calls"][style]
    made = calls(call, opening=opening, separator=separator, close=close) if call else ""
    texts = [made, PARTS["contents"][content]]
    begin, end, prompt = PARTS["frames"][frame]
    template = turn(
        PARTS["reasoning"][reasoning],
        *(texts if calls_first else reversed(texts)),
        opening=begin,
        end=end,
        prompt=prompt,
    )
    analysis = analyze(ChatTemplate(PARTS["before"] + template.text))
    smallest = analysis.check.smallest
    assert smallest is None, f"{smallest}\nof {template.text}"
    assert (analysis.format.calls is not None) is bool(call)
