"""The self-check: a right format passes whole, a wrong one is found out."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from autoparser import ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.schema_keywords import JsonType, type_of
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.learning.self_check import self_check
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn

TEMPLATE = turn(REASONING, CONTENT, calls(JSON_CALL, opening="[", separator=", ", close="]"))


def checked(analysis: Analysis, format_: TurnFormat) -> Check:
    """Check another format against the template of an analysis."""
    prober = Prober(
        analysis.template,
        choose_sentinels(analysis.template.text),
        tokens={},
        tools=battery_tools(),
        shape=analysis.shape,
        setting=format_.setting,
    )
    return self_check(format_, prober)


def with_calls(**changes: object) -> Callable[[TurnFormat], TurnFormat]:
    def change(format_: TurnFormat) -> TurnFormat:
        assert format_.calls is not None
        return structs.replace(format_, calls=structs.replace(format_.calls, **changes))

    return change


def with_layout(presence: Presence, **changes: object) -> Callable[[TurnFormat], TurnFormat]:
    def change(format_: TurnFormat) -> TurnFormat:
        layout = structs.replace(format_.layouts[presence], **changes)
        return structs.replace(format_, layouts={**format_.layouts, presence: layout})

    return change


def with_refused_null(format_: TurnFormat) -> TurnFormat:
    assert format_.calls is not None
    arguments = structs.replace(format_.calls.arguments, refused=frozenset({JsonType.NULL}))
    return structs.replace(format_, calls=structs.replace(format_.calls, arguments=arguments))


def test_the_right_format_passes() -> None:
    analysis = analyze(TEMPLATE)
    check = checked(analysis, analysis.format)
    assert check == analysis.check
    assert check.ok
    assert (check.passed, check.refused) == (len(battery_messages()), 0)
    assert check.failures == ()
    assert check.smallest is None


@pytest.mark.parametrize(
    ("change", "title", "reason"),
    [
        (with_calls(separator=","), "2 calls", "another separator"),
        (with_calls(section_close=""), "1 call", "a section that is not closed"),
        (with_calls(limit=CallLimit.FIRST), "2 calls", "calls that are lost"),
        (
            with_calls(limit=CallLimit.REFUSED),
            "2 calls",
            "a refusal that the template does not make",
        ),
        (with_calls(later_close="!"), "2 calls", "a text too many after later calls"),
        (with_refused_null, "an argument that is null", "a refused value"),
        (
            with_layout(Presence(content=True), literals=("A: ", ".\n")),
            "content",
            "a blank too many",
        ),
        (
            with_layout(Presence(), refusal="no"),
            "an empty message",
            "a refused message",
        ),
    ],
)
def test_a_wrong_format_is_found_out(
    change: Callable[[TurnFormat], TurnFormat], title: str, reason: str
) -> None:
    analysis = analyze(TEMPLATE)
    check = checked(analysis, change(analysis.format))
    assert not check.ok, reason
    assert title in [failure.title for failure in check.failures], reason
    assert check.passed + len(check.failures) == check.total
    smallest = check.smallest
    assert smallest is not None
    assert smallest.written != smallest.rendered
    assert smallest.rank == min(failure.rank for failure in check.failures)
    assert smallest.reason


CHANGED = (
    "{%- for m in messages -%}<|{{ m.role }}|>"
    "{%- if m.reasoning_content -%}<think>{{ m.reasoning_content REASONING }}</think>{%- endif -%}"
    "{{ m.content }}"
    "{%- for call in m.tool_calls -%}<call>{{ call.function.name NAME }}"
    "{%- for key, value in call.function.arguments.items() -%}"
    "<arg>{{ key KEY }}={{ (value VALUE if value is string else value) | tojson }}</arg>"
    "{%- endfor -%}</call>{%- endfor -%}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""Writes all that is said, with a filter at one place."""


@pytest.mark.parametrize(
    ("place", "filter_", "reason"),
    [
        ("VALUE", "| reverse", "'Oslo' in a call's arguments is written as 'olsO'"),
        ("VALUE", "| replace('o', '0')", "'Oslo' in a call's arguments is written as 'Osl0'"),
        ("REASONING", "| reverse", "in the reasoning is written as '.eud si pukool A\\n.stcaf"),
        ("NAME", "| reverse", "'update_record' in a call's name is written as 'drocer_etadpu'"),
        ("NAME", "| lower", "'FindTown' in a call's name is written as 'findtown'"),
        ("KEY", "| reverse", "'city' in the name of an argument is written as 'ytic'"),
        ("VALUE", "| title", "'plain words' in a call's arguments is written as 'Plain Words'"),
        ("VALUE", "[:200]", "in a call's arguments is not written as it was said"),
    ],
)
def test_changed_text_is_the_reason_of_the_smallest_failure(
    place: str, filter_: str, reason: str
) -> None:
    source = CHANGED.replace(place, filter_)
    for other in ("REASONING", "NAME", "KEY", "VALUE"):
        source = source.replace(f" {other}", "")
    smallest = analyze(ChatTemplate(source)).check.smallest
    assert smallest is not None
    assert reason in smallest.reason


def test_a_refusal_that_the_format_foretells_is_no_failure() -> None:
    refusing = (
        "{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}"
    )
    analysis = analyze(turn(CONTENT, refusing, calls()))
    assert analysis.check.ok
    several = [case for case in battery_messages() if len(case.message.calls) > 1]
    assert analysis.check.refused == len(several)


def test_a_refusal_that_the_format_does_not_know_is_one() -> None:
    analysis = analyze(turn(CONTENT, calls()))
    strict = ChatTemplate(
        analysis.template.text.replace(
            "{% for c in", "{% if m.content %}{{ raise_exception('no') }}{% endif %}{% for c in"
        )
    )
    check = checked(replace(analysis, template=strict), analysis.format)
    failed = [failure for failure in check.failures if failure.rendered is None]
    assert failed
    assert {failure.reason for failure in failed} == {"no"}


def test_the_battery_covers_what_it_should() -> None:
    cases = battery_messages()
    assert len(cases) >= 40
    assert len({case.title for case in cases}) == len(cases)
    assert {case.message.presence for case in cases} == {
        Presence(reasoning, content, made)
        for reasoning in (False, True)
        for content in (False, True)
        for made in (False, True)
    }
    assert {len(case.message.calls) for case in cases} == {0, 1, 2, 3}
    values = [
        value for case in cases for call in case.message.calls for value in call.arguments.values()
    ]
    assert {type_of(value) for value in values} == set(JsonType)


def test_the_battery_calls_tools_that_are_offered() -> None:
    parameters = {tool["name"]: tool["parameters"] for tool in battery_tools()}
    for case in battery_messages():
        for call in case.message.calls:
            schema = parameters[call.name]
            assert isinstance(schema, dict)
            properties = schema["properties"]
            assert isinstance(properties, dict)
            assert set(call.arguments) <= set(properties)


def test_every_sign_stands_in_a_content_and_in_an_argument() -> None:
    signs = set(string.punctuation)
    texts = [case.message.content for case in battery_messages()]
    values = [
        value
        for case in battery_messages()
        for call in case.message.calls
        for value in call.arguments.values()
        if isinstance(value, str)
    ]
    assert any(signs <= set(text) for text in texts)
    assert any(signs <= set(value) for value in values)


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        (CONTENT, "{{ (m.content or '')|replace('^', '') }}"),
        (CONTENT, "{{ (m.content or '')|replace('~', '-') }}"),
        ("f.arguments|tojson", "f.arguments|tojson|replace('@', '')"),
    ],
)
def test_a_template_that_rewrites_a_sign_does_not_pass(written: str, rewritten: str) -> None:
    text = TEMPLATE.text.replace(written, rewritten)
    assert text != TEMPLATE.text
    (failure,) = analyze(ChatTemplate(text)).check.failures
    assert "markup" in failure.title
