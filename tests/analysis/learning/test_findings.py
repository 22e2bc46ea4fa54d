"""The findings of phases, with the renders that say so, and what an analysis costs of them."""

from __future__ import annotations

from statistics import median

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.formats.format_view import MarkerRegistry
from autoparser.analysis.learning.found_switches import MOST_SETTINGS
from tests.analysis.parsing.loop import fixture_names
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

PHASES = ("R1", "R2", "R3", "C1", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "A1", "A2", "A3")
CALLED = calls(f"<do>{JSON_CALL}</do>")
WHOLE = turn(REASONING, CONTENT, CALLED, end="<end>")
TURN, PROMPT, BEFORE = "the turn", "the generation prompt", "the text before the turn"


@pytest.mark.parametrize("template", [turn(CONTENT), WHOLE])
def test_every_phase_concludes_in_one_line_and_every_marker_is_from_one(
    template: ChatTemplate,
) -> None:
    found = analyze(template).phases
    assert tuple(finding.phase for finding in found) == PHASES
    assert all(finding.title and finding.conclusion.count("\n") == 0 for finding in found)
    evidence = [each for finding in found for each in finding.evidence]
    assert all(" / " in each.difference for each in evidence)
    sources = {name for finding in found for name in finding.markers}
    # Fences are read off the section; they have no phase in the seeds.
    assert {*MarkerRegistry.__slots__} - sources == {"code_block_marker", "code_block_language"}


def test_reasoning_that_only_words_or_prompts_name_is_not_confirmed() -> None:
    words = "{% if deep %}Put your reasons between <why> </why>.\n{% endif %}"
    analysis = analyze(ChatTemplate(words + turn(CONTENT).text))
    assert [each.phase for each in analysis.phases if not each.confirmed] == ["R2"]
    prompt = "<bot>{% if deep %}<why>{% else %}<why></why>{% endif %}"
    format_ = analyze(turn(CONTENT, opening="<bot>", prompt=prompt)).format
    assert (format_.reasoning_open, format_.reasoning_close) == ("<why>", "</why>")
    assert [str(part) for part in format_.unconfirmed] == ["reasoning"]


# What an analysis costs, counted in renders, which are the same on every machine.


def with_switches(count: int, changes: str) -> Analysis:
    """Analyze a template with so many switches, each of which changes the same thing."""
    shown = "".join(f"{{% if s{at} %}}[{at}]{{% endif %}}" for at in range(count))
    text = dict.fromkeys((TURN, PROMPT, BEFORE), "") | {changes: shown}
    parts = (text[TURN], REASONING, CONTENT, CALLED)
    template = turn(*parts, end="<end>\n", prompt=f"A:{text[PROMPT]}")
    return analyze(ChatTemplate(text[BEFORE] + template.text))


@pytest.mark.slow
def test_the_fixtures_cost_no_more_renders_than_they_should() -> None:
    renders = [analyzed(name).renders for name in fixture_names()]
    assert median(renders) <= 140
    assert max(renders) <= 430
    assert sum(renders) <= 155 * len(renders)


@pytest.mark.parametrize(
    ("changes", "count", "most"),
    sampled(
        [
            (TURN, 0, 140),  # one format
            (TURN, 3, 1250),  # each of 27 settings is looked at
            (TURN, 1, 300),  # two formats
            (TURN, 7, 1900),  # no more settings are looked at
            (PROMPT, 1, 210),  # one format, three settings
            (PROMPT, 3, 620),  # each setting's prompt is continued
            (BEFORE, 1, 175),  # one setting
            (PROMPT, 7, 850),  # no more settings are looked at
            (BEFORE, 7, 380),  # each switch is tried alone
        ],
        2,
    ),
)
def test_renders_grow_with_what_switches_change(changes: str, count: int, most: int) -> None:
    analysis = with_switches(count, changes)
    assert len(analysis.switches) == count
    assert analysis.renders <= most
    assert len(analysis.formats.openings) <= MOST_SETTINGS


def test_the_gate_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = with_switches(0, TURN)

    def refuse(template: ChatTemplate, variables: object) -> str:
        raise AssertionError(f"{template} is rendered with {variables}")

    monkeypatch.setattr(ChatTemplate, "render_prepared", refuse)
    assert analysis.gate.ok
