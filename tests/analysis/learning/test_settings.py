"""Check one format per setting, each selected by its prompt, and the renders of an analysis.

Renders are counted, since their number is equal on every machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from statistics import median
from typing import Any
from unittest import mock
from unittest.mock import Mock

import pytest

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, tool_for
from autoparser.analysis.core.message_battery import LONG_TEXT_SIZE
from autoparser.analysis.learning import found_switches
from autoparser.analysis.learning.found_switches import MOST_SETTINGS
from tests.analysis.parsing.loop import fixture_names
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.case_tables import load_cases
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

    monkeypatch.setattr(ChatTemplate, "render_prepared", Mock(side_effect=AssertionError))
    assert analysis.gate.ok


TABLE: Any = load_cases(__file__, "settings.yaml")
TEMPLATES: dict[str, str] = TABLE["templates"]
SWITCHED, OPENED, _, CALLS, SHARED = TEMPLATES.values()
LOOK = {"type": "function", "function": tool_for("look", "Looks.", {"at": "string"})}
SAID = Message("It is warm.", "Summer.")
HI = {"role": "user", "content": "Hi."}


@cache
def analysis_of(text: str) -> Analysis:
    return analyze(ChatTemplate(text, {"eos_token": "<|eos|>"}))


@pytest.mark.parametrize("case", TABLE["outputs"], ids=lambda case: case["point"])
def test_output_is_parsed_and_constrained_under_its_setting(case: dict[str, Any]) -> None:
    analysis, request = analysis_of(TEMPLATES[case["template"]]), case.get("request", {})
    tools = [LOOK] if "tool_choice" in request else []
    grammar = analysis.grammar(tools, **request)
    assert grammar.accepts(case["text"]).accepted is case["accepted"]
    read = analysis.parser(tools, **request).parse(case["text"])
    if "content" in case:
        assert (read.reasoning_content, read.content) == (case.get("reasoning"), case["content"])
    if "calls" in case:
        calls = [(call.name, json.loads(call.arguments)) for call in read.tool_calls]
        assert calls == [("look", arguments) for arguments in case["calls"]]


def test_unlearned_setting_is_rendered_and_refused_one_raises() -> None:
    analysis = analysis_of(OPENED)
    written = analysis.under({"deep": 0}).format.write(SAID)
    assert written == "<|assistant|><say>It is warm.</say><|end|>"
    assert analysis.under({"unknown": 1}).format is analysis.format
    picky = "{% if deep is defined and deep not in [1, 2] %}{{ raise_exception('no ' ~ deep) }}"
    analysis = analysis_of(f"{picky}{{% endif %}}{SWITCHED}")
    with pytest.raises(AutoparserError, match="raises under deep=7: no 7"):
        analysis.parser(chat_template_kwargs={"deep": 7})


TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ CONTENT }}<|end|>{% endfor %}"


def test_switch_that_shortens_long_messages_is_found() -> None:
    idle = "".join(f"{{% if idle{at} %}}{{% endif %}}" for at in range(4))
    cut = TURNS.replace("CONTENT", "m.content[:1000] if brief and not loop.last else m.content")
    (brief,) = analysis_of(idle + cut).switches
    assert (brief.name, brief.default, brief.values) == ("brief", False, (True, False))


def test_long_messages_are_rendered_only_for_variables_without_effect() -> None:
    flags = "".join(f"{{% if flag{at} %}}+{at}{{% endif %}}" for at in range(6))
    counts: list[int] = []
    for more in ("", "{% if unused and false %}{% endif %}"):
        template = f"{flags}{more}{TURNS.replace('CONTENT', 'm.content')}"
        with mock.patch.object(
            found_switches, "_long_text", side_effect=found_switches._long_text
        ) as long:
            analysis = analyze(ChatTemplate(template))
        assert [switch.name for switch in analysis.switches] == [f"flag{at}" for at in range(6)]
        counts.append(long.call_count)
    # The two messages of one conversation, whatever the number of switches and values.
    assert counts == [0, 2]


def test_switch_that_needs_another_names_it() -> None:
    under = "deep and m.reasoning_content and (keep or loop.last or loop.index0 > 1)"
    switches = analysis_of(SWITCHED.replace("deep and m.reasoning_content", under)).switches
    (keep,) = (switch for switch in switches if switch.name == "keep")
    assert keep.only == "under another setting, such as deep=true"


def test_text_before_the_turn_identifies_the_format_of_whole_prompts() -> None:
    words = "{% if form == 'json' %}Calls are JSON objects.{% else %}Calls are tags.{% endif %}"
    template = ChatTemplate(CALLS.replace("{% for m", f"{words}{{% for m", 1))
    analysis, called = analyze(template), TABLE["outputs"][-2]["text"]
    for word, count in (("json", 1), ("tags", 0)):
        prompt = template.render([HI], add_generation_prompt=True, call_form=word)
        (begun,) = analysis.begun(prompt=prompt)
        assert begun.opening is not None
        assert begun.opening.setting.get("call_form", "tags") == word
        assert len(analysis.parser(prompt=prompt).parse(called).tool_calls) == count
        tail = prompt[-len(begun.opening.text) :]
        assert len(analysis.begun(prompt=tail)) == len(analysis.formats)


def test_text_that_prompts_of_two_formats_share_identifies_neither() -> None:
    template = ChatTemplate(SHARED)
    analysis = analyze(template)
    for raw in (False, True):
        prompt = template.render([HI], add_generation_prompt=True, deep=True, raw=raw)
        own = analysis.under({"deep": True, "raw": raw}).format
        assert own in [begun.format for begun in analysis.begun(prompt=prompt)]
    prompt = template.render([HI], add_generation_prompt=True, deep=True)
    assert analysis.parser(prompt=prompt).parse("Summer.</muse>Warm.<|end|>").content == "Warm."
