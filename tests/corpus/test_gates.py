"""A sample of real templates, and the project's own, by both judges of formats per setting.

All of them: `python -m tests.corpus --gate`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.analysis.analysis import analyze
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

from .behind import MESSAGES, Silence, asker
from .corpus_templates import known_causes, own_paths
from .gate_judge import Fault, Verdict, Way, default_differs, verdicts
from .gates import (
    BEGUN,
    GATES,
    TOOLLESS,
    UNASKED,
    UNCHECKED,
    UNITED,
    Gated,
    cause_of,
    gated,
    unexplained,
)

EVERY = 12


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> list[Gated]:
    return GATES.answers([*corpus[::EVERY], *own_paths()[::EVERY]])


def test_nothing_is_bad_without_a_cause(sample: list[Gated]) -> None:
    assert not unexplained(sample), GATES.table(sample)


def test_almost_everything_passes(sample: list[Gated]) -> None:
    asked = sum(each.counts.asked for each in sample)
    assert asked > 300
    assert sum(each.counts.passed for each in sample) >= 0.95 * asked


def test_defaults_are_what_an_unset_render_shows(sample: list[Gated]) -> None:
    differing = [each.name for each in sample if each.differs and not each.counts.failed_checks]
    assert differing == []


def test_the_table_names_what_does_not_pass() -> None:
    found = gated(next(path for path in own_paths() if path.stem == "reasoning-delimiter"))
    text = GATES.table([found])
    assert "reasoning-delimiter: 9 of 14" in text
    assert known_causes("gate")["reasoning-delimiter"] in text
    assert unexplained([found]) == []


CALLED = calls(opening="<do>", close="</do>")


def test_a_sound_template_passes_every_way() -> None:
    switched = "{% if deep %}(r){% endif %}"
    template = turn(REASONING, CONTENT, CALLED, end="<end>\n", prompt=f"A:{switched}")
    found = list(verdicts(analyze(template)))
    assert {repr(each.setting) for each in found} >= {"{}", "{'deep': True}"}
    assert {each.title for each in found if each.silence is None} == set(MESSAGES)
    assert [each for each in found if each.faults] == []
    behind = [each for each in found if each.setting == {"deep": True}]
    assert {each.silence for each in behind} == {None, Silence.OTHERWISE}


def verdict(*ways: Way, tools: bool = True, bare: bool = False, checked: bool = True) -> Verdict:
    faults = tuple(Fault(way, True, "it is misread") for way in ways)
    return Verdict({}, tools, "a call", None, bare=bare, checked=checked, faults=faults)


@pytest.mark.parametrize(
    ("judged", "beside", "cause", "reason"),
    [
        (verdict(Way.PROMPT, Way.BOTH, bare=True), (), BEGUN, "told a prompt that adds nothing"),
        (verdict(Way.SETTING, bare=True), (), UNASKED, "told the setting, the prompt is unknown"),
        (verdict(Way.PROMPT), (), UNITED, "only the setting tells"),
        (verdict(*Way, checked=False), (), UNCHECKED, "the format is no good anyway"),
        (verdict(*Way, tools=False), (verdict(),), TOOLLESS, "with tools all is well"),
        (verdict(*Way, tools=False), (verdict(*Way),), "", "with tools nothing is, either"),
        (verdict(*Way), (), "", "nothing is known"),
    ],
)
def test_what_is_open_is_told_by_what_fails(
    judged: Verdict, beside: tuple[Verdict, ...], cause: str, reason: str
) -> None:
    assert cause_of("no template", judged, (judged, *beside)) == cause, reason


def test_the_judge_is_no_friend_of_the_format() -> None:
    # What closes a value is also how a quote inside of it is written: nobody can tell them apart.
    pairs = '{% for k, v in f.arguments.items() %}{{ k }}="{{ v }}"{% endfor %}'
    analysis = analyze(turn(CONTENT, calls(f"<do {{{{ f.name }}}}({pairs})>"), end="<end>\n"))
    bad = {each.title for each in verdicts(analysis) if each.faults}
    assert bad == {"quotes and lines"}
    assert default_differs(analysis) == ""
    assert asker(analysis, {}, tools=True).closing == ""
