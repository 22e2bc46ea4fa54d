"""One format for every setting: each is found by rendering, and a prompt finds its own.

The templates, and outputs under requests, are in settings.yaml.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, tool_for
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_verdict import Outcome

TABLE: Any = yaml.safe_load(Path(__file__).with_name("settings.yaml").read_text("utf-8"))
TEMPLATES: dict[str, str] = TABLE["templates"]
SWITCHED, OPENED, ALIKE, CALLS = TEMPLATES.values()
LOOK = {"type": "function", "function": tool_for("look", "Looks.", {"at": "string"})}
SAID = Message("It is warm.", "Summer.")
HI = {"role": "user", "content": "Hi."}
TURN = {"role": "assistant", "content": SAID.content, "reasoning_content": SAID.reasoning}


@cache
def analysis_of(text: str) -> Analysis:
    return analyze(ChatTemplate(text, {"eos_token": "<|eos|>"}))


@pytest.mark.parametrize("text", [SWITCHED, OPENED, ALIKE], ids=[*TEMPLATES][:3])
def test_each_setting_writes_what_the_template_renders_under_it(text: str) -> None:
    analysis, template = analysis_of(text), ChatTemplate(text)
    assert analysis.ok
    assert len(analysis.formats) > 1
    for format_ in analysis.formats:
        for opening in format_.openings:
            setting: dict[str, Any] = {**opening.setting}
            whole = template.render([HI, TURN], **setting)
            assert whole.endswith(format_.write(SAID)), opening.setting
            prompt = template.render([HI], add_generation_prompt=True, **setting)
            assert prompt.endswith(opening.text)
    assert template.render([HI, TURN]).endswith(analysis.format.write(SAID))


@pytest.mark.parametrize("case", TABLE["outputs"], ids=lambda case: case["point"])
def test_an_output_is_read_and_constrained_under_its_setting(case: dict[str, Any]) -> None:
    analysis, request = analysis_of(TEMPLATES[case["template"]]), case.get("request", {})
    tools = [LOOK] if "tool_choice" in request else []
    grammar = analysis.grammar(tools, **request)
    assert grammar.accepts(case["text"]).accepted is case["accepted"]
    read = analysis.parser(tools, **request).parse(case["text"])
    if "content" in case:
        assert (read.reasoning_content, read.content) == (case.get("reasoning"), case["content"])
    if "calls" in case:
        calls = [(call.name, json.loads(call.arguments)) for call in read.tool_calls]
        assert calls == [("look", each) for each in case["calls"]]


def test_formats_know_what_other_settings_write_and_which_prompts_are_alike() -> None:
    switched, calling = analysis_of(SWITCHED), analysis_of(CALLS)
    assert TurnPart.REASONING in switched.format.elsewhere
    assert {switch.name: switch.default for switch in switched.switches} == {"deep": False}
    assert [len(group) for group in analysis_of(ALIKE).formats.alike] == [2]
    assert len(calling.formats) == len(calling.checks) == 2
    assert calling.ok
    assert calling.gate.passed == calling.gate.asked > 0


def test_a_round_trip_plays_what_a_model_writes_under_its_setting() -> None:
    found = round_trip(analysis_of(OPENED), shipped_scenarios(), setting={"deep": False})
    sampled = [row.verdict.sampled for row in found.rows if row.scenario.sampled is None]
    assert sampled
    assert not any("<muse>" in text for text in sampled)
    plain = next(row for row in found.rows if row.scenario.name == "answer")
    assert plain.verdict.outcome is Outcome.HOLDS


def test_a_prompt_keeps_the_character_that_another_end_begins_with() -> None:
    text = f"{ALIKE.removesuffix('{% endif %}')}{{% else %}}<|eos|>{{% endif %}}"
    openings = [opening.text for each in analysis_of(text).formats for opening in each.openings]
    assert {*openings} == {"<|assistant|>"}


def test_a_setting_that_was_not_learned_is_rendered_and_a_refused_one_is_an_error() -> None:
    analysis = analysis_of(OPENED)
    written = analysis.under({"deep": 0}).format.write(SAID)
    assert written == "<|assistant|><say>It is warm.</say><|end|>"
    assert analysis.under({"unknown": 1}).format is analysis.format
    picky = "{% if deep is defined and deep not in [1, 2] %}{{ raise_exception('no ' ~ deep) }}"
    analysis = analysis_of(f"{picky}{{% endif %}}{SWITCHED}")
    with pytest.raises(AutoparserError, match="raises under deep=7: no 7"):
        analysis.parser(chat_template_kwargs={"deep": 7})


def test_a_switch_that_acts_under_another_one_says_so() -> None:
    under = "deep and m.reasoning_content and (keep or loop.last or loop.index0 > 1)"
    switches = analysis_of(SWITCHED.replace("deep and m.reasoning_content", under)).switches
    (keep,) = (switch for switch in switches if switch.name == "keep")
    assert keep.only == "under another setting, such as deep=true"


def test_text_before_the_turn_tells_the_format_of_a_whole_prompt_and_not_of_its_end() -> None:
    words = "{% if form == 'json' %}Calls are JSON objects.{% else %}Calls are tags.{% endif %}"
    template = ChatTemplate(CALLS.replace("{% for m", f"{words}{{% for m", 1))
    analysis, called = analyze(template), TABLE["outputs"][-2]["text"]
    for word, calls in (("json", 1), ("tags", 0)):
        prompt = template.render([HI], add_generation_prompt=True, call_form=word)
        (begun,) = analysis.begun(prompt=prompt)
        assert begun.opening is not None
        assert begun.opening.setting.get("call_form", "tags") == word
        assert len(analysis.parser(prompt=prompt).parse(called).tool_calls) == calls
        tail = prompt[-len(begun.opening.text) :]
        assert len(analysis.begun(prompt=tail)) == len(analysis.formats)
