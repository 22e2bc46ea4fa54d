"""Samples, held against what the template itself writes after the same prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.history.roundtrip import round_trip
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.history.roundtrip.sampled import NotWrittenError
from autoparser.analysis.history.roundtrip.template_sample import WrittenByFormat, unconfirmed

from .played import shipped

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


@pytest.mark.parametrize(
    ("source", "reason"), [(WRITES, ""), (OPENS, "its turn does not go on from the prompt")]
)
def test_the_template_confirms_what_it_writes_after_its_prompt(source: str, reason: str) -> None:
    found = round_trip(analyze(ChatTemplate(source)), [shipped("answer")])
    assert [row.verdict.unconfirmed for row in found.rows] == [reason]


def test_a_sample_of_another_text_is_left_out() -> None:
    stage = ReplayStage(analyze(ChatTemplate(WRITES)))
    scenario = shipped("answer")
    prompt = stage.prompt(scenario.history, scenario.tools, {})
    message = scenario.message
    right = WrittenByFormat(prompt, message, f"{message.content}<|end|>")
    assert unconfirmed(stage, scenario, {}, right) == ""
    with pytest.raises(NotWrittenError, match="where the format has"):
        unconfirmed(stage, scenario, {}, replace(right, text=f"{message.content}<|stop|>"))


def test_what_the_template_leaves_out_is_named() -> None:
    stage = ReplayStage(analyze(ChatTemplate(SILENT)))
    scenario = shipped("answer")
    prompt = stage.prompt(scenario.history, scenario.tools, {})
    message = replace(scenario.message, reasoning="Hm.")
    written = WrittenByFormat(prompt, message, f"<think>Hm.</think>{message.content}<|end|>")
    told = unconfirmed(stage, scenario, {}, written)
    assert told == "it leaves the reasoning out of the turn"
