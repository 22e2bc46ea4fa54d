"""The judges of triggers, stops and structural tags on invented formats, sound and broken."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.grammar.turn_rules import TriggerKind
from autoparser.analysis.parsing.turn_request import StrictRow
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, TAGGED_CALL, calls, turn

from .stops import STOPS, After, Engine, stopped_by
from .structural_tags import TAGS, Question, Tagged, Wish, tagged_by
from .triggers import Triggered, triggered_by, triggers_board

needs_xgrammar = pytest.mark.skipif(
    find_spec("xgrammar") is None, reason="xgrammar is not installed"
)
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
def test_triggers_of_invented_formats_begin_calls_alone(
    template: ChatTemplate, kind: TriggerKind
) -> None:
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
    assert asked.refused in triggers_board([]).table([asked])


def test_the_judge_finds_a_trigger_that_comes_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(row: StrictRow) -> Iterator[str]:
        assert row.items or row.end.text
        return iter(())

    monkeypatch.setattr("autoparser.analysis.grammar.turn_rules._around", nothing)
    asked = found(turn(ANSWER, calls(opening="<open>tools<sep>"), end="<end>\n"))
    assert any("has '<open>answer<sep>" in fault for fault in asked.faults), asked.faults
    assert asked.faults[0] in triggers_board([]).table([asked])


def test_a_call_in_bare_json_is_known_by_its_name() -> None:
    asked = found(turn(CONTENT, calls(JSON_CALL), end="<end>\n"))
    assert {trigger.value for trigger in asked.triggers} >= {'{"name": "get_forecast"'}


def test_the_judge_finds_a_stop_that_comes_too_early() -> None:
    between = turn(
        CONTENT, "{% if m.tool_calls %}<end>{% endif %}", calls(opening="<do>"), end="<end>\n"
    )
    found = stopped_by("own", analyze(between))
    assert found.wrong[After.CALLS, Engine.POSITION] > 0
    assert found.wrong[After.CONTENT, Engine.POSITION] == 0
    assert found.first in STOPS.table([found])


def test_the_judge_finds_a_turn_that_nothing_ends() -> None:
    template = turn(REASONING, CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n")
    analysis = analyze(template)
    assert stopped_by("own", analysis).first == ""
    bare = turn(CONTENT, end="\n")
    found = stopped_by("own", analyze(bare))
    assert found.unended[After.CONTENT] > 0
    assert found.turns[After.CONTENT] == 0


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
@needs_xgrammar
def test_tags_of_invented_formats_take_what_is_allowed(
    template: ChatTemplate, triggered: bool
) -> None:
    found = tagged_by("own", analyze(template))
    assert found is not None
    assert found.ok, TAGS.table([found])
    assert found.triggered is triggered
    assert found.asked[Wish.NAMED, Question.REFUSES] > 0


def test_the_table_names_what_does_not_hold() -> None:
    found = Tagged("own", faults=((Wish.ALONE, Question.REFUSES, "two calls: 'x'"),))
    assert "own: 1 no two calls | refuses what it does not | two calls: 'x'" in TAGS.table([found])
    assert "own: 0 no tag" in TAGS.table([Tagged("own", refused="no tag")])
