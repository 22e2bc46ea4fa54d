"""Count the renders of an analysis, which are equal on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.message_battery import LONG_TEXT_SIZE
from autoparser.analysis.learning.found_switches import MOST_SETTINGS
from tests.analysis.parsing.loop import fixture_names
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

CALLED = calls(f"<do>{JSON_CALL}</do>")
TURN, PROMPT, BEFORE = "the turn", "the generation prompt", "the text before the turn"


def with_switches(count: int, changes: str) -> Analysis:
    """Analyze a template with so many switches, each of which changes the same thing."""
    shown = "".join(f"{{% if s{at} %}}[{at}]{{% endif %}}" for at in range(count))
    text = dict.fromkeys((TURN, PROMPT, BEFORE), "") | {changes: shown}
    parts = (text[TURN], REASONING, CONTENT, CALLED)
    template = turn(*parts, end="<end>\n", prompt=f"A:{text[PROMPT]}")
    return analyze(ChatTemplate(text[BEFORE] + template.text))


@pytest.mark.slow
def test_fixture_analyses_stay_below_a_render_limit() -> None:
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
def test_render_count_grows_with_effective_switches(changes: str, count: int, most: int) -> None:
    analysis = with_switches(count, changes)
    assert len(analysis.switches) == count
    assert analysis.renders <= most
    assert len(analysis.formats.openings) <= MOST_SETTINGS


def test_long_renders_do_not_grow_with_idle_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    render, long = ChatTemplate.render_prepared, list[int]()

    def count(template: ChatTemplate, variables: Mapping[str, object]) -> str:
        long[-1] += len(repr(variables["messages"])) > LONG_TEXT_SIZE
        return render(template, variables)

    monkeypatch.setattr(ChatTemplate, "render_prepared", count)
    for idle in (2, 20):
        long.append(0)
        read = "".join(f"{{% if s{at} %}}{{% endif %}}" for at in range(idle))
        assert len(analyze(ChatTemplate(read + turn(CONTENT).text)).unmoved) == idle
    assert long[0] == long[1] < 10


def test_gate_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = with_switches(0, TURN)

    def refuse(template: ChatTemplate, variables: object) -> str:
        raise AssertionError(f"{template} is rendered with {variables}")

    monkeypatch.setattr(ChatTemplate, "render_prepared", refuse)
    assert analysis.gate.ok
