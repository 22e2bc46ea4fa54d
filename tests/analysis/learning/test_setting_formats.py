"""One format for every setting: each is found by rendering, and a prompt finds the one it is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from llguidance import LLMatcher, LLTokenizer

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.analysis import analyze as analyzed
from autoparser.analysis.core.conversation import Json, Message, tool_for
from autoparser.analysis.core.switches import SwitchEffect
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

END_INSTEAD_OF_PROMPT = (
    HEAD + "<|assistant|>{{ m.content }}<|end|>" + TAIL + PROMPT + ("{% else %}<|eos|>{% endif %}")
)
"""What is not a prompt ends with a token of its own, which begins like the header."""

ALIKE_AT_THE_END = (
    HEAD + "<|assistant|>{% if raw %}{{ m.content }}{% else %}<say>{{ m.content }}</say>{% endif %}"
    "<|end|>" + TAIL + PROMPT + "{% endif %}"
)
"""The prompt is the same whatever is set; the turn after it is not."""


def analysis_of(text: str) -> Analysis:
    return analyze(ChatTemplate(text, {"eos_token": "<|eos|>"}))


def accepts(analysis: Analysis, text: str, **asked: Any) -> bool:
    grammar = analysis.grammar([], **asked).lark(OpaqueTokens())
    matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0)
    tokens = list(text.encode())
    taken = matcher.try_consume_tokens(tokens)
    return taken == len(tokens) and (matcher.is_accepting() or matcher.is_stopped())


def rendered(template: str, message: Message, setting: Mapping[str, Json], prompt: bool) -> str:
    """Render a turn after a user message, or the prompt alone, by the template itself."""
    entries: list[dict[str, object]] = [{"role": "user", "content": "Hi."}]
    if not prompt:
        said = {"role": "assistant", "content": message.content}
        entries.append({**said, "reasoning_content": message.reasoning})
    made = ChatTemplate(template, {"eos_token": "<|eos|>"})
    kwargs: dict[str, Any] = dict(setting)
    return made.render(entries, add_generation_prompt=prompt, **kwargs)


TEMPLATES = {
    "only with a switch": ONLY_WITH_A_SWITCH,
    "off opens the answer": OFF_OPENS_THE_ANSWER,
    "alike at the end": ALIKE_AT_THE_END,
}


@pytest.mark.parametrize("title", TEMPLATES)
def test_each_setting_writes_what_the_template_renders_under_it(title: str) -> None:
    template = TEMPLATES[title]
    analysis = analysis_of(template)
    assert analysis.ok
    assert len(analysis.formats) > 1
    message = Message("It is warm.", "Summer.")
    for format_ in analysis.formats:
        for opening in format_.openings:
            whole = rendered(template, message, opening.setting, prompt=False)
            assert whole.endswith(format_.write(message)), opening.setting
            assert rendered(template, message, opening.setting, prompt=True).endswith(opening.text)


@pytest.mark.parametrize("title", TEMPLATES)
def test_the_default_is_what_is_rendered_with_nothing_set(title: str) -> None:
    message = Message("It is warm.", "Summer.")
    whole = rendered(TEMPLATES[title], message, {}, prompt=False)
    assert whole.endswith(analysis_of(TEMPLATES[title]).format.write(message))


def test_what_no_turn_of_the_default_has_is_not_in_its_grammar() -> None:
    analysis = analysis_of(ONLY_WITH_A_SWITCH)
    assert TurnPart.REASONING in analysis.format.elsewhere
    assert not accepts(analysis, "<muse>Summer.</muse>It is warm.<|end|>")
    assert accepts(analysis, "It is warm.<|end|>")
    deep = {"chat_template_kwargs": {"deep": True}}
    assert accepts(analysis, "Summer.</muse>It is warm.<|end|>", **deep)


def test_reasoning_that_a_model_writes_all_the_same_is_read() -> None:
    parser = analysis_of(ONLY_WITH_A_SWITCH).parser()
    message = parser.parse("<muse>Summer.</muse>It is warm.<|end|>")
    assert (message.reasoning_content, message.content) == ("Summer.", "It is warm.")


@pytest.mark.parametrize(
    ("prompt", "text", "reasoning"),
    [
        ("<|user|>Hi.<|end|><|assistant|><muse>", "Summer.</muse><say>Warm.</say>", "Summer."),
        ("<|user|>Hi.<|end|><|assistant|><say>", "Warm.</say>", None),
    ],
)
def test_a_prompt_is_of_the_setting_that_it_ends_with(
    prompt: str, text: str, reasoning: str | None
) -> None:
    analysis = analysis_of(OFF_OPENS_THE_ANSWER)
    message = analysis.parser(prompt=prompt).parse(f"{text}<|end|>")
    assert (message.reasoning_content, message.content) == (reasoning, "Warm.")
    assert accepts(analysis, f"{text}<|end|>", prompt=prompt)


def test_the_grammar_behind_an_opened_answer_writes_no_reasoning() -> None:
    analysis = analysis_of(OFF_OPENS_THE_ANSWER)
    off = {"chat_template_kwargs": {"deep": False}}
    assert not accepts(analysis, "<muse>Summer.</muse><say>Warm.</say><|end|>", **off)


def test_a_round_trip_plays_what_a_model_writes_under_its_setting() -> None:
    found = round_trip(
        analyzed(ChatTemplate(OFF_OPENS_THE_ANSWER, {"eos_token": "<|eos|>"})),
        shipped_scenarios(),
        setting={"deep": False},
    )
    assert found.rows
    sampled = [row.verdict.sampled for row in found.rows if row.scenario.sampled is None]
    assert not any("<muse>" in text for text in sampled)
    plain = next(row for row in found.rows if row.scenario.name == "answer")
    assert plain.verdict.outcome is Outcome.HOLDS


def test_a_generation_prompt_keeps_its_first_character() -> None:
    analysis = analysis_of(END_INSTEAD_OF_PROMPT)
    assert [opening.text for opening in analysis.format.openings] == ["<|assistant|>"]


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


def test_a_setting_that_was_not_learnt_is_rendered() -> None:
    analysis = analysis_of(OFF_OPENS_THE_ANSWER)
    begun = analysis.under({"deep": 0})
    assert begun.format.write(Message("Warm.", "Summer.")) == "<|assistant|><say>Warm.</say><|end|>"
    assert analysis.under({"unknown": 1}).format is analysis.format


NEVER_SET: list[tuple[str, str, tuple[Json, ...], Json, str, str]] = [
    (
        "without tools alone",
        "{% if not tools and deep %}Think.{% endif %}",
        (True, False),
        False,
        "without tools",
        "deep",
    ),
    (
        "beside a system message alone",
        "{% if messages[0].role == 'system' and deep %}Think.{% endif %}",
        (True, False),
        False,
        "beside a system message",
        "deep",
    ),
    (
        "a list that is gone through",
        "{% for e in extras or [] %}{% if e == 'web' %}You can browse.{% endif %}{% endfor %}",
        (["web"],),
        None,
        "",
        "extras",
    ),
    (
        "a list that is searched",
        "{% if extras and 'web' in extras %}You can browse.{% endif %}",
        (["web"],),
        None,
        "",
        "extras",
    ),
]


@pytest.mark.parametrize(
    ("front", "values", "default", "only", "name"),
    [case[1:] for case in NEVER_SET],
    ids=[case[0] for case in NEVER_SET],
)
def test_a_switch_is_found_wherever_it_acts(
    front: str, values: tuple[Json, ...], default: Json, only: str, name: str
) -> None:
    analysis = analysis_of(
        front + HEAD + "<|assistant|>{{ m.content }}<|end|>" + TAIL + PROMPT + "{% endif %}"
    )
    (switch,) = analysis.switches
    assert switch.name == name
    for value in values:
        assert value in switch.values
    if default is not None:
        assert switch.default == default
    assert switch.only == only


def test_a_switch_that_acts_under_another_one_says_so() -> None:
    template = ONLY_WITH_A_SWITCH.replace(
        "{% if deep and m.reasoning_content %}",
        "{% if deep and m.reasoning_content and (keep or loop.last or loop.index0 > 1) %}",
    )
    switches = {switch.name: switch for switch in analysis_of(template).switches}
    assert switches["deep"].default is False
    assert switches["keep"].only == "under another setting, such as deep=true"


def test_what_is_set_by_default_is_found_and_not_assumed() -> None:
    switches = {switch.name: switch for switch in analysis_of(ONLY_WITH_A_SWITCH).switches}
    assert switches["deep"].default is False


def test_renders_grow_with_the_settings_and_not_with_their_product() -> None:
    """Two switches that change turns take no more than four times the renders of none."""
    plain = HEAD + "<|assistant|>{{ m.content }}<|end|>" + TAIL + PROMPT + "{% endif %}"
    two = plain.replace("<|assistant|>{{", "<|assistant|>{% if a %}(a){% endif %}{{").replace(
        "<|end|>{% else", "{% if b %}(b){% endif %}<|end|>{% else"
    )
    assert analysis_of(two).renders < 7 * analysis_of(plain).renders


def test_a_value_that_the_template_refuses_is_an_error_with_its_words() -> None:
    picky = "{% if deep is defined and deep not in [1, 2] %}{{ raise_exception('no ' ~ deep) }}"
    analysis = analysis_of(f"{picky}{{% endif %}}{ONLY_WITH_A_SWITCH}")
    with pytest.raises(AutoparserError, match="raises under deep=7: no 7"):
        analysis.parser(chat_template_kwargs={"deep": 7})


CALLS_BY_A_WORD = (
    "{% set form = call_form or 'tags' %}{% for m in messages %}{% if m.role == 'assistant' %}"
    "<|assistant|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}{% set f = c.function %}"
    "{% if form == 'json' %}<call>"
    '{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</call>'
    "{% else %}<call:{{ f.name }}>{% for k, v in f.arguments.items() %}"
    "<{{ k }}>{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}</call:{{ f.name }}>"
    "{% endif %}{% endfor %}<|end|>" + TAIL + PROMPT + "{% endif %}"
)
"""A word says how calls are written, and nothing else changes with it."""


def test_calls_that_a_word_changes_are_read_and_constrained_under_each_word() -> None:
    analysis = analysis_of(CALLS_BY_A_WORD)
    (switch,) = analysis.switches
    assert switch.values == ("tags", "json")
    assert switch.effects == ((), (SwitchEffect.CALLS,))
    assert len(analysis.formats) == len(analysis.checks) == 2
    assert analysis.ok
    assert analysis.gate.passed == analysis.gate.asked > 0
    tools = [tool_for("look", "Looks.", {"at": "string"})]
    offered: Any = [{"type": "function", "function": tool} for tool in tools]
    texts = {
        "tags": "<call:look><at>sky</at></call:look><|end|>",
        "json": '<call>{"name": "look", "arguments": {"at": "sky"}}</call><|end|>',
    }
    for word, text in texts.items():
        asked: Any = {"chat_template_kwargs": {"call_form": word}}
        (call,) = analysis.parser(offered, **asked).parse(text).tool_calls
        assert (call.name, call.arguments) == ("look", '{"at": "sky"}')
        grammar = analysis.grammar(offered, tool_choice="required", **asked).lark(OpaqueTokens())
        for other, written in texts.items():
            matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0)
            taken = matcher.try_consume_tokens(list(written.encode()))
            assert (taken == len(written.encode())) == (word == other)


def test_what_stands_before_the_turn_tells_the_format_of_a_prompt() -> None:
    words = "{% if form == 'json' %}Calls are JSON objects.{% else %}Calls are tags.{% endif %}"
    set_form, rest = CALLS_BY_A_WORD.split("%}", 1)
    template = ChatTemplate(f"{set_form}%}}{words}{rest}")
    analysis = analyze(template)
    asked = [{"role": "user", "content": "Look up."}]
    text = '<call>{"name": "look", "arguments": {"at": "sky"}}</call><|end|>'
    for word, calls in (("json", 1), ("tags", 0)):
        prompt = template.render(asked, add_generation_prompt=True, call_form=word)
        (begun,) = analysis.begun(prompt=prompt)
        assert begun.opening is not None
        assert begun.opening.setting.get("call_form", "tags") == word
        assert len(analysis.parser(prompt=prompt).parse(text).tool_calls) == calls
        # A tail of it does not tell.
        assert len(analysis.begun(prompt=prompt[-len(begun.opening.text) :])) == len(
            analysis.formats
        )
