"""One format for every setting: each is found by rendering, and a prompt finds its own."""

from __future__ import annotations

from typing import Any

import pytest
from llguidance import LLMatcher, LLTokenizer

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Message, tool_for
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.sources.token_bytes import OpaqueTokens

HEAD = "{% for m in messages %}{% if m.role == 'assistant' %}"
TAIL = "{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|assistant|>"

ONLY_WITH_A_SWITCH = (
    "{% set deep = deep | default(false) %}"
    + HEAD
    + "<|assistant|>{% if deep and m.reasoning_content %}<muse>{{ m.reasoning_content }}</muse>"
    "{% endif %}{{ m.content }}<|end|>"
    + TAIL
    + PROMPT
    + "{% if deep %}<muse>{% endif %}{% endif %}"
)
"""Reasoning is written under a switch alone, which the template sets to false."""

OFF_OPENS_THE_ANSWER = (
    "{% set deep = deep | default(true) %}"
    + HEAD
    + "<|assistant|>{% if deep %}<muse>{{ m.reasoning_content }}</muse>{% endif %}<say>"
    "{{ m.content }}</say><|end|>" + TAIL + PROMPT + "{% if deep %}<muse>{% else %}<say>{% endif %}"
    "{% endif %}"
)
"""Without thinking the prompt opens the answer, and no turn has reasoning."""

ALIKE_AT_THE_END = (
    HEAD + "<|assistant|>{% if raw %}{{ m.content }}{% else %}<say>{{ m.content }}</say>{% endif %}"
    "<|end|>" + TAIL + PROMPT + "{% endif %}"
)
"""The prompt is the same whatever is set; the turn after it is not."""

CALLS_BY_A_WORD = (
    "{% set form = call_form or 'tags' %}FRONT{% for m in messages %}"
    "{% if m.role == 'assistant' %}"
    "<|assistant|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}{% set f = c.function %}"
    "{% if form == 'json' %}<call>"
    '{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</call>'
    "{% else %}<call:{{ f.name }}>{% for k, v in f.arguments.items() %}"
    "<{{ k }}>{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}</call:{{ f.name }}>"
    "{% endif %}{% endfor %}<|end|>" + TAIL + PROMPT + "{% endif %}"
)
"""A word says how calls are written, and nothing else changes with it."""
WAYS = {
    "tags": "<call:look><at>sky</at></call:look><|end|>",
    "json": '<call>{"name": "look", "arguments": {"at": "sky"}}</call><|end|>',
}
SAID = Message("It is warm.", "Summer.")


def template_of(text: str) -> ChatTemplate:
    return ChatTemplate(text.replace("FRONT", ""), {"eos_token": "<|eos|>"})


def analysis_of(text: str) -> Analysis:
    return analyze(template_of(text))


def accepts(analysis: Analysis, text: str, tools: list[Any] | None = None, **asked: Any) -> bool:
    grammar = analysis.grammar(tools or [], **asked).lark(OpaqueTokens())
    matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0)
    tokens = list(text.encode())
    taken = matcher.try_consume_tokens(tokens)
    return taken == len(tokens) and (matcher.is_accepting() or matcher.is_stopped())


def rendered(text: str, setting: dict[str, Any], prompt: bool) -> str:
    """Render a turn after a user message, or the prompt alone, by the template itself."""
    entries: list[dict[str, object]] = [{"role": "user", "content": "Hi."}]
    if not prompt:
        turn = {"role": "assistant", "content": SAID.content, "reasoning_content": SAID.reasoning}
        entries.append({**turn})
    return template_of(text).render(entries, add_generation_prompt=prompt, **setting)


@pytest.mark.parametrize("text", [ONLY_WITH_A_SWITCH, OFF_OPENS_THE_ANSWER, ALIKE_AT_THE_END])
def test_each_setting_writes_what_the_template_renders_under_it(text: str) -> None:
    analysis = analysis_of(text)
    assert analysis.ok
    assert len(analysis.formats) > 1
    for format_ in analysis.formats:
        for opening in format_.openings:
            whole = rendered(text, {**opening.setting}, prompt=False)
            assert whole.endswith(format_.write(SAID)), opening.setting
            assert rendered(text, {**opening.setting}, prompt=True).endswith(opening.text)
    assert rendered(text, {}, prompt=False).endswith(analysis.format.write(SAID))


def test_reasoning_that_the_default_never_has_is_read_and_not_in_its_grammar() -> None:
    analysis = analysis_of(ONLY_WITH_A_SWITCH)
    assert TurnPart.REASONING in analysis.format.elsewhere
    assert not accepts(analysis, "<muse>Summer.</muse>It is warm.<|end|>")
    assert accepts(analysis, "It is warm.<|end|>")
    deep: Any = {"chat_template_kwargs": {"deep": True}}
    assert accepts(analysis, "Summer.</muse>It is warm.<|end|>", **deep)
    message = analysis.parser().parse("<muse>Summer.</muse>It is warm.<|end|>")
    assert (message.reasoning_content, message.content) == ("Summer.", "It is warm.")
    assert {switch.name: switch.default for switch in analysis.switches} == {"deep": False}


@pytest.mark.parametrize(
    ("end", "text", "reasoning"),
    [("<muse>", "Summer.</muse><say>Warm.</say>", "Summer."), ("<say>", "Warm.</say>", None)],
)
def test_a_prompt_is_of_the_setting_that_it_ends_with(
    end: str, text: str, reasoning: str | None
) -> None:
    analysis = analysis_of(OFF_OPENS_THE_ANSWER)
    prompt = f"<|user|>Hi.<|end|><|assistant|>{end}"
    message = analysis.parser(prompt=prompt).parse(f"{text}<|end|>")
    assert (message.reasoning_content, message.content) == (reasoning, "Warm.")
    assert accepts(analysis, f"{text}<|end|>", prompt=prompt)
    off: Any = {"chat_template_kwargs": {"deep": False}}
    assert not accepts(analysis, "<muse>Summer.</muse><say>Warm.</say><|end|>", **off)


def test_a_round_trip_plays_what_a_model_writes_under_its_setting() -> None:
    found = round_trip(
        analysis_of(OFF_OPENS_THE_ANSWER), shipped_scenarios(), setting={"deep": False}
    )
    sampled = [row.verdict.sampled for row in found.rows if row.scenario.sampled is None]
    assert sampled
    assert not any("<muse>" in text for text in sampled)
    plain = next(row for row in found.rows if row.scenario.name == "answer")
    assert plain.verdict.outcome is Outcome.HOLDS


def test_a_prompt_keeps_the_character_that_another_end_begins_with() -> None:
    text = (
        HEAD
        + "<|assistant|>{{ m.content }}<|end|>"
        + TAIL
        + PROMPT
        + "{% else %}<|eos|>{% endif %}"
    )
    assert [opening.text for opening in analysis_of(text).format.openings] == ["<|assistant|>"]


def test_prompts_that_end_alike_are_read_and_written_as_either() -> None:
    analysis = analysis_of(ALIKE_AT_THE_END)
    (group,) = analysis.formats.alike
    assert len(group) == 2
    prompt = "<|user|>Hi.<|end|><|assistant|>"
    for text in ("Warm.<|end|>", "<say>Warm.</say><|end|>"):
        assert analysis.parser(prompt=prompt).parse(text).content == "Warm."
        assert accepts(analysis, text, prompt=prompt)
    assert not accepts(analysis, "Warm.<|end|>")
    assert accepts(analysis, "Warm.<|end|>", chat_template_kwargs={"raw": True})


def test_a_setting_that_was_not_learned_is_rendered_and_a_refused_one_is_an_error() -> None:
    analysis = analysis_of(OFF_OPENS_THE_ANSWER)
    assert analysis.under({"deep": 0}).format.write(SAID) == (
        "<|assistant|><say>It is warm.</say><|end|>"
    )
    assert analysis.under({"unknown": 1}).format is analysis.format
    picky = "{% if deep is defined and deep not in [1, 2] %}{{ raise_exception('no ' ~ deep) }}"
    analysis = analysis_of(f"{picky}{{% endif %}}{ONLY_WITH_A_SWITCH}")
    with pytest.raises(AutoparserError, match="raises under deep=7: no 7"):
        analysis.parser(chat_template_kwargs={"deep": 7})


def test_a_switch_that_acts_under_another_one_says_so() -> None:
    template = ONLY_WITH_A_SWITCH.replace(
        "{% if deep and m.reasoning_content %}",
        "{% if deep and m.reasoning_content and (keep or loop.last or loop.index0 > 1) %}",
    )
    switches = {switch.name: switch for switch in analysis_of(template).switches}
    assert switches["deep"].default is False
    assert switches["keep"].only == "under another setting, such as deep=true"


def test_calls_that_a_word_changes_are_read_and_constrained_under_each_word() -> None:
    analysis = analysis_of(CALLS_BY_A_WORD)
    assert len(analysis.formats) == len(analysis.checks) == 2
    assert analysis.ok
    assert analysis.gate.passed == analysis.gate.asked > 0
    tools: list[Json] = [
        {"type": "function", "function": tool_for("look", "Looks.", {"at": "string"})}
    ]
    for word, text in WAYS.items():
        asked: Any = {"chat_template_kwargs": {"call_form": word}}
        (call,) = analysis.parser(tools, **asked).parse(text).tool_calls
        assert (call.name, call.arguments) == ("look", '{"at": "sky"}')
        for other, written in WAYS.items():
            taken = accepts(analysis, written, tools, tool_choice="required", **asked)
            assert taken is (word == other)


def test_text_before_the_turn_tells_the_format_of_a_whole_prompt_and_not_of_its_end() -> None:
    words = "{% if form == 'json' %}Calls are JSON objects.{% else %}Calls are tags.{% endif %}"
    template = ChatTemplate(CALLS_BY_A_WORD.replace("FRONT", words))
    analysis = analyze(template)
    asked = [{"role": "user", "content": "Look up."}]
    for word, calls in (("json", 1), ("tags", 0)):
        prompt = template.render(asked, add_generation_prompt=True, call_form=word)
        (begun,) = analysis.begun(prompt=prompt)
        assert begun.opening is not None
        assert begun.opening.setting.get("call_form", "tags") == word
        assert len(analysis.parser(prompt=prompt).parse(WAYS["json"]).tool_calls) == calls
        tail = prompt[-len(begun.opening.text) :]
        assert len(analysis.begun(prompt=tail)) == len(analysis.formats)
