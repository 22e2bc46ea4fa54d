"""Every cause, each shown by a small template that has it, and by what fixes it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, ToolCall, UserMessage
from autoparser.analysis.history.scenarios import (
    ArgumentsAs,
    EngineHabits,
    Ids,
    Next,
    Scenario,
    UnreadCalls,
)
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

from .played import fixture, rows, shipped, verdict
from .vocabularies import tiny

TAGGED = (
    "<call={{ f.name }}>{% for k, v in f.arguments.items() %}<{{ k }}>VALUE</{{ k }}>"
    "{% endfor %}</call>"
)
END = "<|end|>\n"


def chat(*parts: str, prompt: str = "<|a|>", end: str = END) -> ChatTemplate:
    """Return a template whose turns begin and end with special tokens."""
    return turn(*parts, opening="<|a|>", end=end, prompt=prompt)


def json_call(arguments: str, close: str = "</call>") -> str:
    return f'<call>{{"name": "{{{{ f.name }}}}", "arguments": {arguments}}}{close}'


class Case(NamedTuple):
    """A template, a scenario, and why it breaks."""

    template: ChatTemplate
    scenario: str
    cause: Cause | None


SPACED = calls(json_call("{{ f.arguments|tojson }}"))
PASTED = calls(json_call("{{ f.arguments if f.arguments is string else f.arguments|tojson }}"))
SORTED = calls(json_call("{{ f.arguments|tojson(sort_keys=true) }}"))
BY_ID = calls("<call>{{ c.id }}|{{ f.name }}|{{ f.arguments|tojson }}</call>")
TRIMMED = calls(TAGGED.replace("VALUE", "{{ v if v is not string else v|trim }}"))
PYTHON = calls(TAGGED.replace("VALUE", "{{ v }}"))
THOUGHT = "<think>{{ m.reasoning_content or '' }}</think>"
LAST_ONLY = "{% if loop.last %}<think>{{ m.reasoning_content or '' }}</think>{% endif %}"
OPEN = "<|a|><think>"

CASES = {
    "nothing breaks": Case(chat(REASONING, CONTENT, SPACED), "tool call + both", None),
    "reasoning is written in the last turn only": Case(
        chat(LAST_ONLY, CONTENT, prompt=OPEN), "reasoning + answer", Cause.REASONING_DROPPED
    ),
    "an empty block is written in the last turn only": Case(
        chat(LAST_ONLY, CONTENT), "no reasoning", Cause.REASONING_DROPPED
    ),
    "the prompt opens what the history lacks": Case(
        chat(CONTENT, prompt="<|a|>Answer: "), "answer", Cause.HEADER
    ),
    "reasoning is trimmed": Case(
        chat("<think>{{ (m.reasoning_content or '')|trim }}</think>", CONTENT, SPACED),
        "newline ends reasoning",
        Cause.REASONING_STRIPPED,
    ),
    "the engine trims reasoning": Case(
        chat(THOUGHT, CONTENT, SPACED), "engine strips reasoning", Cause.REASONING_STRIPPED
    ),
    "content is trimmed": Case(
        chat("{{ (m.content or '')|trim }}"), "newline ends answer", Cause.CONTENT_STRIPPED
    ),
    "content is not written beside calls": Case(
        chat("{% if not m.tool_calls %}{{ m.content }}{% endif %}", SPACED),
        "tool call + content",
        Cause.CONTENT_DROPPED,
    ),
    "a joint is the template's": Case(
        chat(CONTENT, "{{ '\n\n' if m.content and m.tool_calls else '' }}", SPACED),
        "no space before calls",
        Cause.WHITESPACE,
    ),
    "arguments are encoded twice": Case(
        chat(CONTENT, SPACED), "arguments as string", Cause.ENCODED_TWICE
    ),
    "arguments are pasted": Case(chat(CONTENT, PASTED), "arguments as string", None),
    "a string takes the place of the tags": Case(
        chat(
            CONTENT,
            calls(
                "<call={{ f.name }}>{% if f.arguments is string %}{{ f.arguments }}"
                "{% else %}{% for k, v in f.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>"
                "{% endfor %}{% endif %}</call>"
            ),
        ),
        "arguments as string",
        Cause.ARGUMENT_FORM,
    ),
    "JSON is spaced": Case(chat(CONTENT, SPACED), "compact JSON", Cause.JSON_SPACING),
    "the engine writes JSON again": Case(
        chat(CONTENT, PASTED), "arguments written again", Cause.JSON_SPACING
    ),
    "JSON is not escaped": Case(chat(CONTENT, SPACED), "escaped JSON", Cause.JSON_ESCAPES),
    "literals are Python's": Case(chat(CONTENT, PYTHON), "JSON literals", Cause.LITERALS),
    "literals are JSON's": Case(chat(CONTENT, SPACED), "Python literals", Cause.LITERALS),
    "arguments are sorted": Case(chat(CONTENT, SORTED), "sampled order", Cause.ORDER),
    "values are trimmed": Case(chat(CONTENT, TRIMMED), "sampled padding", Cause.VALUES),
    "ids are made": Case(chat(CONTENT, BY_ID), "engine-made ids", Cause.IDS),
    "a cut call is dropped": Case(chat(CONTENT, SPACED), "cut in a call, dropped", Cause.CALL_LOST),
    "a cut call is kept": Case(chat(CONTENT, SPACED), "cut in a call, kept", None),
    "a malformed call is dropped": Case(
        chat(CONTENT, SPACED), "malformed call, dropped", Cause.CALL_LOST
    ),
    "a malformed call is kept": Case(chat(CONTENT, SPACED), "malformed call, kept", None),
    "a cut call is read": Case(chat(CONTENT, SPACED), "cut in a call, read", Cause.CALL_REPAIRED),
    "a malformed call is read": Case(
        chat(CONTENT, SPACED), "malformed call, read", Cause.CALL_REPAIRED
    ),
    "a call that is not closed is closed": Case(
        chat(CONTENT, SPACED), "unclosed call", Cause.CALL_REPAIRED
    ),
    "only one call is written": Case(
        chat(
            CONTENT,
            SPACED.replace("for c in m.tool_calls", "for c in m.tool_calls[:1]"),
        ),
        "sampled twice",
        Cause.CALL_LOST,
    ),
    "the last turn ends otherwise": Case(
        chat(CONTENT, end="{{ '<|return|>' if loop.last else '<|end|>' }}"),
        "answer",
        Cause.END,
    ),
}

OWN = {
    each.name: each
    for each in (
        Scenario(
            "sampled order",
            sampled='<call>{"name": "save_note", "arguments": {"title": "a", "body": "b"}}</call>',
            tools=shipped("answer").tools,
            next=(Next.TOOL,),
        ),
        Scenario(
            "sampled padding",
            sampled="<call=save_note><title> a </title></call><|end|>",
            tools=shipped("answer").tools,
            next=(Next.TOOL,),
        ),
        Scenario(
            "sampled twice",
            sampled="".join(
                f'<call>{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}</call>'
                for city in ("Oslo", "Quito")
            )
            + "<|end|>",
            tools=shipped("answer").tools,
            next=(Next.TOOL,),
        ),
    )
}


@pytest.mark.parametrize("title", CASES)
def test_the_cause_is_found(title: str) -> None:
    case = CASES[title]
    analysis = analyze(case.template)
    scenario = OWN.get(case.scenario) or shipped(case.scenario)
    found = verdict(analysis, scenario, scenario.next[0])
    assert found.cause is case.cause, found
    assert found.outcome is (Outcome.HOLDS if case.cause is None else Outcome.BREAKS)


def test_a_template_that_raises_says_it_in_its_own_words() -> None:
    template = chat(
        CONTENT,
        calls(
            "{% if f.arguments is string %}{{ raise_exception('no text, please') }}{% endif %}"
            + json_call("{{ f.arguments|tojson }}")
        ),
    )
    found = verdict(analyze(template), "arguments as string", Next.TOOL)
    assert (found.outcome, found.cause, found.reason) == (
        Outcome.RAISES,
        Cause.RAISES,
        "no text, please",
    )


def test_earlier_text_that_moves() -> None:
    found = verdict(fixture("t1-name-then-json"), "answer", Next.USER)
    assert found.cause is Cause.EARLIER
    assert found.difference is not None
    assert found.difference.part == "the prompt"


def test_earlier_reasoning_that_is_dropped() -> None:
    scenario = replace(
        shipped("answer in a tool loop"),
        message=Message("It is sunny."),
        silent=True,
    )
    found = verdict(fixture("switch-preserve-history"), scenario, Next.USER)
    assert found.cause is Cause.REASONING_DROPPED
    assert found.difference is not None
    assert found.difference.at < 0


def test_a_token_that_goes_across_the_prompts_end() -> None:
    """The prompt ends in a newline, and so the answer's own newline makes one token with it."""
    template = turn(CONTENT, opening="<|a|>\n", end=END, prompt="<|a|>\n")
    analysis = analyze(template)
    for tokenizer, cause in ((None, None), (tiny("<|a|>", "<|end|>"), Cause.RETOKENIZED)):
        found = verdict(analysis, "newline begins answer", Next.USER, tokenizer=tokenizer)
        assert (found.outcome, found.cause) == (Outcome.HOLDS, cause)
        if found.tokens is not None:
            assert not found.tokens.holds
            assert found.tokens.reused == 0
            assert found.tokens.prompt_reused == found.tokens.prompt - 1


def test_newlines_sampled_one_by_one() -> None:
    analysis = analyze(chat(CONTENT))
    tokenizer = tiny("<|a|>", "<|end|>")
    found = verdict(analysis, "single newlines", Next.USER, tokenizer=tokenizer)
    assert found.cause is Cause.RETOKENIZED
    assert found.tokens is not None
    assert 0 < found.tokens.reused < found.tokens.sampled
    assert verdict(analysis, "single newlines", Next.USER).cause is None


def test_the_difference_is_shown_in_context() -> None:
    found = verdict(fixture("a1-function-parameter"), "compact JSON, nested", Next.TOOL)
    difference = found.difference
    assert difference is not None
    assert difference.part == "the arguments"
    assert difference.before.endswith('<parameter=labels>\n["a",')
    assert difference.sampled.startswith('"b"]')
    assert difference.rendered.startswith(' "b"]')
    assert found.sampled[difference.at :].startswith('"b"]')


ENGINES = [
    (EngineHabits(), None),
    (EngineHabits(arguments=ArgumentsAs.OBJECT), None),
    (EngineHabits(arguments=ArgumentsAs.STRING), Cause.ENCODED_TWICE),
    (EngineHabits(ids=Ids.MADE), None),
    (EngineHabits(malformed=UnreadCalls.DROPPED), None),
    (EngineHabits(strips_reasoning=True), None),
    (EngineHabits(rewrites_json=True), None),
]


@pytest.mark.parametrize(("engine", "cause"), ENGINES)
def test_an_engines_habits(engine: EngineHabits, cause: Cause | None) -> None:
    scenario = replace(shipped("tool call"), engine=engine)
    assert verdict(analyze(chat(CONTENT, SPACED)), scenario, Next.TOOL).cause is cause


def test_what_a_person_gives_is_taken_as_it_is() -> None:
    scenario = Scenario("own", sampled="  It is sunny.<|end|>", history=(UserMessage("Well?"),))
    (row,) = rows(analyze(chat(CONTENT)), [scenario])
    assert row.verdict.sampled == scenario.sampled
    assert row.verdict.holds


def test_a_call_with_an_id_of_its_own_keeps_it() -> None:
    scenario = replace(
        shipped("tool call"),
        message=Message(calls=(ToolCall("get_weather", {"city": "Oslo"}, "mine-1"),)),
    )
    found = verdict(analyze(chat(CONTENT, BY_ID)), scenario, Next.TOOL)
    assert "mine-1|get_weather" in found.sampled
    assert found.holds


def test_the_spaces_of_a_call_that_is_json_are_json_spacing() -> None:
    found = verdict(fixture("j1-json-in-tags"), "compact JSON", Next.TOOL)
    assert found.cause is Cause.JSON_SPACING
    assert found.difference is not None
    assert found.difference.before.endswith('{"name":')
