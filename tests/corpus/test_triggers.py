"""A sample of real templates, the project's own, and some that make triggers hard.

All of them: `python -m tests.corpus --triggers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.grammar.turn_rules import TriggerKind
from autoparser.analysis.parsing.turn_request import StrictRow
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn

from .gates import own_paths
from .triggers import Triggered, triggered_by, triggers_of_all, triggers_table

WORDS = (
    "{",
    "}",
    "[",
    '{"name":',
    '"arguments":',
    "say",
    "get_forecast",
    "<open>",
    "tools",
    "(call",
)
ANSWER = "{% if m.content %}<open>answer<sep>{{ m.content }}<close>{% endif %}"
LATE_NAME = '{"id": "{{ c.id }}", "name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}'
NAME_LAST = '{"arguments": {{ f.arguments|tojson }}, "name": "{{ f.name }}"}'
LINES = "{{ f.name }}\n{{ f.arguments|tojson }}"


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> list[Triggered]:
    return triggers_of_all([*corpus[::16], *own_paths()])


def test_every_trigger_begins_calls_and_nothing_else(sample: list[Triggered]) -> None:
    wrong = [each for each in sample if not each.ok and (each.called or not each.refused)]
    assert wrong == [], triggers_table(wrong)
    assert sum(each.called for each in sample) > 3000
    assert sum(each.uncalled for each in sample) > 6000


def found(template: ChatTemplate) -> Triggered:
    return triggered_by("own", analyze(template), WORDS)


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        (turn(CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n"), TriggerKind.WORD),
        (turn(CONTENT, calls(opening="\n<do>\n"), end="<end>\n"), TriggerKind.WORD),
        # What opens content opens calls, too.
        (turn(ANSWER, calls(opening="<open>tools<sep>"), end="<end>\n"), TriggerKind.WORD),
        # What ends a turn begins a call.
        (turn(CONTENT, calls(opening="<end>\ncall<sep>"), end="<end>\n"), TriggerKind.WORD),
        # Nothing but JSON.
        (turn(REASONING, CONTENT, calls(), end="<end>\n"), TriggerKind.WORD),
        (
            turn(CONTENT, calls(opening="[", close="]", separator=", "), end="<end>\n"),
            TriggerKind.WORD,
        ),
        (turn(CONTENT, calls(LATE_NAME), end="<end>\n"), TriggerKind.PATTERN),
    ],
)
def test_formats_that_nobody_has(template: ChatTemplate, kind: TriggerKind) -> None:
    asked = found(template)
    assert asked.ok, asked
    assert asked.called
    assert asked.uncalled
    assert {trigger.kind for trigger in asked.triggers} == {kind}


def test_what_the_prompt_has_begun_is_awaited_at_the_very_beginning() -> None:
    spoken = "{% if m.content %}>>>all\n{{ m.content }}{% endif %}"
    template = turn(spoken, calls(f">>>{LINES}"), opening="A:", end="<end>\n", prompt="A:>>>")
    asked = found(template)
    assert asked.ok, asked
    assert {trigger.kind for trigger in asked.triggers} == {
        TriggerKind.WORD,
        TriggerKind.PATTERN_FULL,
    }


def test_a_call_that_nothing_tells_from_json_is_no_lazy_one() -> None:
    asked = found(turn(CONTENT, calls(NAME_LAST), end="<end>\n"))
    assert (
        "nothing tells calls from other text: they begin with '{\"arguments\": '" in asked.refused
    )
    assert asked.triggers == ()
    assert asked.refused in triggers_table([asked])


def test_the_judge_finds_a_trigger_that_comes_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(row: StrictRow) -> Iterator[str]:
        assert row.items or row.end.text
        return iter(())

    monkeypatch.setattr("autoparser.analysis.grammar.turn_rules._around", nothing)
    asked = found(turn(ANSWER, calls(opening="<open>tools<sep>"), end="<end>\n"))
    assert any("has '<open>answer<sep>" in fault for fault in asked.faults), asked.faults
    assert asked.faults[0] in triggers_table([asked])


def test_a_call_in_bare_json_is_known_by_its_name() -> None:
    asked = found(turn(CONTENT, calls(JSON_CALL), end="<end>\n"))
    assert {trigger.value for trigger in asked.triggers} >= {'{"name": "get_forecast"'}
