"""A sample of real templates, and the project's own: their structural tags in xgrammar.

All of them: `python -m tests.corpus --structural-tags`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from tests.analysis.tiny import CONTENT, REASONING, TAGGED_CALL, calls, turn

from .gates import own_paths
from .structural_tags import Asked, Question, Tagged, structural_tags, tagged_by, tags_table

pytestmark = pytest.mark.skipif(find_spec("xgrammar") is None, reason="xgrammar is not installed")

KNOWN = {"names-are-tags"}
"""Of what closes a raw value GBNF misses one that begins within another text that ends it."""


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> list[Tagged]:
    return structural_tags([*corpus[::48], *own_paths()[::4]])


def test_tags_take_what_is_asked_and_refuse_the_rest(sample: list[Tagged]) -> None:
    wrong = [each for each in sample if not each.ok and each.name not in KNOWN]
    assert wrong == [], tags_table(wrong)
    for wish in Asked:
        assert sum(each.asked[wish, Question.TAKES] for each in sample) > 200
    for wish in (Asked.REQUIRED, Asked.ALONE, Asked.NAMED):
        assert sum(each.asked[wish, Question.REFUSES] for each in sample) > 100


SIGNS = "{% for k, v in f.arguments.items() %}{{ k }}={{ v|tojson }};{% endfor %}"


@pytest.mark.parametrize(
    ("template", "triggered"),
    [
        (turn(REASONING, CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n"), True),
        (turn(CONTENT, calls(TAGGED_CALL), end="<end>\n"), True),
        (turn(CONTENT, calls(f"-> {{{{ f.name }}}} {SIGNS} <-\n"), end="<end>\n"), True),
        # Nothing closes the section, or it begins with what is no trigger.
        (turn(CONTENT, calls(opening="<do>"), end="<end>\n"), False),
        (turn(CONTENT, calls(opening="[", close="]", separator=", "), end="<end>\n"), False),
    ],
)
def test_formats_that_nobody_has(template: ChatTemplate, triggered: bool) -> None:
    found = tagged_by("own", analyze(template))
    assert found is not None
    assert found.ok, tags_table([found])
    assert found.triggered is triggered
    assert found.asked[Asked.NAMED, Question.REFUSES] > 0


def test_the_table_names_what_does_not_hold() -> None:
    found = Tagged("own", faults=((Asked.ALONE, Question.REFUSES, "two calls: 'x'"),))
    assert "own: 1 no two calls | refuses what it does not | two calls: 'x'" in tags_table([found])
    assert "own: 0 no tag" in tags_table([Tagged("own", refused="no tag")])
