"""Turns as the template itself writes them after a prompt, and those that it does not write."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.history import trip_verdict as verdict
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.sampled_turns import (
    NotWrittenError,
    Sample,
    SampledKind,
    SampledPiece,
    sample_turn,
)
from autoparser.analysis.history.trip_verdict import Outcome, TemplateSample, template_sample

from .played import fixture, shipped

WRITES = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
OPENS = WRITES.replace("{% endif %}", "<say>{% endif %}").replace("</think><say>", "</think>")
"""Its prompt begins the message, and no turn of the history begins so."""
SILENT = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


ONE_CALL = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% if m.tool_calls %}<call>{{ (m.tool_calls|last).function|tojson }}</call>{% endif %}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
"""Of several calls it writes one."""


def written(analysis: Analysis, name: str, message: Message | None = None) -> TemplateSample:
    stage, scenario = ReplayStage(analysis), shipped(name)
    prompt = stage.prompt(scenario.history, scenario.tools, {})
    said = message or scenario.message
    stops = analysis.formats.fullest.stop_strings
    return template_sample(stage, scenario, {}, prompt, said, stops)


@pytest.mark.parametrize(
    ("source", "reason"), [(WRITES, ""), (OPENS, "its turn does not go on from the prompt")]
)
def test_it_is_told_whether_the_template_wrote_the_turn(source: str, reason: str) -> None:
    found = round_trip(analyze(ChatTemplate(source)), [shipped("answer")])
    assert [row.verdict.unconfirmed for row in found.rows] == [reason]
    assert [row.verdict.sampled for row in found.rows] == ["It is sunny in Oslo.<|end|>"]


def test_the_format_is_not_asked_for_what_the_template_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refusing(*_: object) -> Sample:
        raise NotWrittenError("the format was asked")

    monkeypatch.setattr(verdict, "sample_turn", refusing)
    analysis = analyze(ChatTemplate(WRITES))
    asked = [shipped("reasoning + answer"), shipped("newline ends answer")]
    found = round_trip(analysis, asked)
    assert [row.scenario.name for row in found.rows] == ["reasoning + answer"]
    assert found.rows[0].verdict.sampled.startswith("<think>The user wants the weather.</think>It")
    assert {reason for _, _, reason in found.left_out} == {"the format was asked"}


def test_a_format_of_another_text_varies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Sample((SampledPiece(SampledKind.CONTENT, "It is sunny.<|stop|>"),))

    def otherwise(*_: object) -> Sample:
        return other

    monkeypatch.setattr(verdict, "sample_turn", otherwise)
    found = round_trip(
        analyze(ChatTemplate(WRITES)), [shipped("answer"), shipped("newline ends answer")]
    )
    assert [row.verdict.outcome for row in found.rows] == [Outcome.HOLDS]
    ((_, _, reason),) = found.left_out
    assert "where the format has" in reason


def test_what_the_template_leaves_out_is_named() -> None:
    thinking = replace(shipped("answer").message, reasoning="Hm.")
    found = written(analyze(ChatTemplate(SILENT)), "answer", thinking)
    assert found == TemplateSample("", "it leaves the reasoning out of the turn")


def test_every_call_has_to_be_written() -> None:
    analysis = analyze(ChatTemplate(ONE_CALL))
    first, last = ToolCall("get_weather", {"city": "Oslo"}), ToolCall("get_weather", {"days": 1})
    assert written(analysis, "tool call", Message(calls=(last,))).text.endswith("</call><|end|>")
    both = written(analysis, "several calls", Message(calls=(first, last)))
    assert both.unwritten == "it leaves the call out of the turn"


@pytest.mark.parametrize("name", ["a1-function-parameter", "t6-function-tag-json"])
def test_where_both_write_a_turn_they_write_the_same(name: str) -> None:
    analysis = fixture(name)
    stage = ReplayStage(analysis)
    both = 0
    for asked in ("answer", "tool call", "tool call + content", "several calls", "many parameters"):
        scenario = shipped(asked)
        prompt = stage.prompt(scenario.history, scenario.tools, analysis.formats.base)
        begun = stage.begun(prompt, scenario.tools, analysis.formats.base)
        found = template_sample(
            stage,
            scenario,
            analysis.formats.base,
            prompt,
            scenario.message,
            begun.format.stop_strings,
        )
        if not found.unwritten:
            by_format = sample_turn(begun.format, scenario.message, prompt, begun.opening).text
            assert found.text == by_format
            both += 1
    assert both
