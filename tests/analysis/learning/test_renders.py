"""What an analysis costs, counted in renders, which are the same on every machine."""

from __future__ import annotations

from statistics import median

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.learning.found_switches import MOST_SETTINGS
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

CALLED = calls(opening="<do>", close="</do>")
TURN, PROMPT, BEFORE = "the turn", "the generation prompt", "the text before the turn"


def switched(count: int, changes: str) -> Analysis:
    """Analyse a template with so many switches, each of which changes the same thing."""
    shown = "".join(f"{{% if s{at} %}}[{at}]{{% endif %}}" for at in range(count))
    text = {change: shown if change == changes else "" for change in (TURN, PROMPT, BEFORE)}
    template = turn(
        text[TURN], REASONING, CONTENT, CALLED, end="<end>\n", prompt=f"A:{text[PROMPT]}"
    )
    return analyze(ChatTemplate(text[BEFORE] + template.text))


def test_the_fixtures_cost_no_more_than_they_should() -> None:
    renders = [analysis_of(name).renders for name in fixture_names()]
    assert median(renders) <= 140
    assert max(renders) <= 430
    assert sum(renders) <= 155 * len(renders)


@pytest.mark.parametrize(
    ("changes", "count", "most", "reason"),
    [
        (TURN, 0, 140, "no switch: one format"),
        (TURN, 1, 300, "two formats"),
        (TURN, 3, 1250, "each of the 27 settings is looked at, eight formats are learnt"),
        (TURN, 7, 1900, "no more settings are"),
        (PROMPT, 1, 210, "one format, three settings"),
        (PROMPT, 3, 620, "each setting's prompt is gone on from"),
        (PROMPT, 7, 850, "no more settings are looked at"),
        (BEFORE, 1, 175, "one setting"),
        (BEFORE, 7, 380, "each switch is tried alone"),
    ],
)
def test_renders_grow_with_what_switches_change(
    changes: str, count: int, most: int, reason: str
) -> None:
    analysis = switched(count, changes)
    assert len(analysis.switches) == count
    assert analysis.renders <= most, reason
    assert len(analysis.formats.openings) <= MOST_SETTINGS


def test_the_gate_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = switched(1, TURN)

    def refuse(template: ChatTemplate, variables: object) -> str:
        raise AssertionError(f"{template} is rendered with {variables}")

    monkeypatch.setattr(ChatTemplate, "render_prepared", refuse)
    assert analysis.gate.ok
