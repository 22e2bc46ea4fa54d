"""Check that the judges of the boards accept sound formats and detect broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.grammar.call_triggers import TriggerKind
from autoparser.analysis.parsing.turn_nodes import StrictRow
from tests.analysis.tiny import CONTENT, REASONING, calls, turn
from tests.fixture_analyses import TEMPLATES
from tests.fuzz.schemas.trial import FORMATS, JUDGE

from .corpus_templates import known_causes, own_paths
from .gates import GATES, default_differs, gated, verdicts
from .real_tools import EACH, FORMS, real_tools, scores_of, tools_board
from .rendered_turns import MESSAGES, Silence, TurnRenderer
from .turn_judges import (
    STOPS,
    TAGS,
    After,
    Engine,
    Question,
    Triggered,
    Wish,
    stopped_by,
    tagged_by,
    triggered_by,
    triggers_board,
)

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


SPOKEN = "{% if m.content %}>>>all\n{{ m.content }}{% endif %}"


@pytest.mark.parametrize(
    ("template", "kinds"),
    [
        # The same text opens content and calls.
        (turn(ANSWER, calls(opening="<open>tools<sep>"), end="<end>\n"), {TriggerKind.WORD}),
        (turn(CONTENT, calls(LATE_NAME), end="<end>\n"), {TriggerKind.PATTERN}),
        # The text that the prompt has begun can only be at the very beginning.
        (
            turn(SPOKEN, calls(f">>>{LINES}"), opening="A:", end="<end>\n", prompt="A:>>>"),
            {TriggerKind.WORD, TriggerKind.PATTERN_FULL},
        ),
    ],
)
def test_triggers_of_invented_formats_begin_only_calls(
    template: ChatTemplate, kinds: set[TriggerKind]
) -> None:
    asked = found(template)
    assert asked.ok, asked
    assert asked.called
    assert asked.uncalled
    assert {trigger.kind for trigger in asked.triggers} == kinds


def test_calls_that_begin_like_other_json_get_no_triggers() -> None:
    asked = found(turn(CONTENT, calls(NAME_LAST), end="<end>\n"))
    assert (
        "calls are indistinguishable from other text: they begin with '{\"arguments\": '"
        in asked.refused
    )
    assert not asked.triggers
    assert asked.refused in triggers_board([]).table([asked])


def test_judge_detects_a_trigger_that_fires_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(row: StrictRow) -> Iterator[str]:
        assert row.items or row.end.text
        return iter(())

    monkeypatch.setattr("autoparser.analysis.grammar.call_triggers._around", nothing)
    asked = found(turn(ANSWER, calls(opening="<open>tools<sep>"), end="<end>\n"))
    assert any("has '<open>answer<sep>" in fault for fault in asked.faults), asked.faults
    assert asked.faults[0] in triggers_board([]).table([asked])


def test_judge_detects_a_stop_that_comes_too_early() -> None:
    between = turn(
        CONTENT, "{% if m.tool_calls %}<end>{% endif %}", calls(opening="<do>"), end="<end>\n"
    )
    found = stopped_by("own", analyze(between))
    assert found.wrong[After.CALLS, Engine.POSITION] > 0
    assert found.wrong[After.CONTENT, Engine.POSITION] == 0
    assert found.first in STOPS.table([found])


def test_judge_detects_a_turn_without_an_end() -> None:
    template = turn(REASONING, CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n")
    analysis = analyze(template)
    assert stopped_by("own", analysis).first == ""
    bare = turn(CONTENT, end="\n")
    found = stopped_by("own", analyze(bare))
    assert found.unended[After.CONTENT] > 0
    assert found.turns[After.CONTENT] == 0


@pytest.mark.parametrize(
    ("template", "triggered"),
    [
        (turn(REASONING, CONTENT, calls(opening="<do>", close="</do>"), end="<end>\n"), True),
        # The section has no closer, or begins with text that is not a trigger.
        (turn(CONTENT, calls(opening="<do>"), end="<end>\n"), False),
        (turn(CONTENT, calls(opening="[", close="]", separator=", "), end="<end>\n"), False),
    ],
)
@needs_xgrammar
def test_tags_of_invented_formats_accept_allowed_answers(
    template: ChatTemplate, triggered: bool
) -> None:
    found = tagged_by("own", analyze(template))
    assert found is not None
    assert found.ok, TAGS.table([found])
    assert found.triggered is triggered
    assert found.asked[Wish.NAMED, Question.REFUSES] > 0


def test_gate_table_names_failing_templates() -> None:
    found = gated(next(path for path in own_paths() if path.stem == "reasoning-delimiter"))
    assert GATES.passes(found)
    text = GATES.table([found])
    assert "reasoning-delimiter: 9 of 14" in text
    assert known_causes("gate")["reasoning-delimiter"] in text


CALLED = calls(opening="<do>", close="</do>")


def test_sound_template_passes_every_gate() -> None:
    switched = "{% if deep %}(r){% endif %}"
    template = turn(REASONING, CONTENT, CALLED, end="<end>\n", prompt=f"A:{switched}")
    found = list(verdicts(analyze(template)))
    assert {repr(verdict.setting) for verdict in found} >= {"{}", "{'deep': True}"}
    assert {verdict.title for verdict in found if verdict.silence is None} == set(MESSAGES)
    assert [verdict for verdict in found if verdict.faults] == []
    behind = [verdict for verdict in found if verdict.setting == {"deep": True}]
    assert {verdict.silence for verdict in behind} == {None, Silence.OTHERWISE}


def test_second_judge_finds_ambiguous_quotes() -> None:
    # The closing quote of a value is also its quote inside: the two are indistinguishable.
    pairs = '{% for k, v in f.arguments.items() %}{{ k }}="{{ v }}"{% endfor %}'
    analysis = analyze(turn(CONTENT, calls(f"<do {{{{ f.name }}}}({pairs})>"), end="<end>\n"))
    bad = {verdict.title for verdict in verdicts(analysis) if verdict.faults}
    assert bad == {"quotes and lines"}
    assert default_differs(analysis) == ""
    assert TurnRenderer(analysis, {}).closing == ""


@needs_xgrammar
@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_each_form_accepts_only_calls_valid_by_the_schema(name: str) -> None:
    tools = real_tools(Path(__file__).with_name("tools"))
    for tool in tools:
        judge = JUDGE(tool.schema, format_checker=FORMATS)
        assert len(tool.valid) == len(tool.invalid) == EACH
        assert all(map(judge.is_valid, tool.valid))
        assert not any(map(judge.is_valid, tool.invalid))
    found = scores_of(TEMPLATES / f"{name}.jinja", tools)
    for form in FORMS:
        score = found[1][form]
        assert not score.wrong, tools_board([]).table([found])
        assert not score.unwritten, tools_board([]).table([found])
        assert score.counts["valid"] == score.counts["taken"] == len(tools) * EACH
        kept_out = sum(score.counts[name] for name in ("kept out", "ambiguous", "not held"))
        assert score.counts["invalid"] == kept_out == len(tools) * EACH
        assert score.counts["kept out"] > EACH
        assert score.together.startswith(f"{len(tools)}/{len(tools)}")
