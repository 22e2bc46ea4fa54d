"""Formats that no model has, and random combinations: written, read, and held by a grammar."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.message_battery import battery_messages
from tests.analysis.grammar.proofs import prove
from tests.analysis.parsing.loop import difference
from tests.analysis.tiny import calls, turn
from tests.case_tables import load_cases
from tests.fixture_analyses import TOKENS

pytestmark = pytest.mark.slow

NOVEL = Path(__file__).parents[2] / "fixtures" / "novel"
NAMES = sorted(path.stem for path in NOVEL.glob("*.jinja"))

READ: Mapping[str, tuple[str, int]] = {
    "thought-action": ("the end of a line closes reasoning that has lines of its own", 36)
}
"""Formats whose text is ambiguous: why, and how many messages come back."""

HELD: Mapping[str, str] = {
    "attributes": "a value is the whole of an attribute, quotes escaped as markup escapes them",
    "names-are-tags": "a string's own tags look like an argument's",
}
"""Formats whose grammar refuses some text that the template writes, and why."""


@cache
def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate((NOVEL / f"{name}.jinja").read_text(encoding="utf-8"), TOKENS))


def test_table_lists_22_formats_and_only_known_exceptions() -> None:
    assert len(NAMES) == 22
    assert {*READ, *HELD} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_novel_format_passes_and_reads_the_expected_messages(name: str) -> None:
    analysis = analysis_of(name)
    assert analysis.check.passed == analysis.check.total
    lost = [case.title for case in battery_messages() if difference(analysis.format, case.message)]
    expected = READ[name][1] if name in READ else analysis.check.total
    assert analysis.check.total - len(lost) == expected, lost


@pytest.mark.parametrize("name", NAMES)
def test_novel_format_grammar_has_only_known_faults(name: str) -> None:
    verdict = prove(analysis_of(name).format, 1)
    assert bool(verdict.faults) is (name in HELD), verdict.faults[:1]


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
