"""Check that the self-check detects wrong formats and weighs crashes.

Templates that change, refuse or crash are in templates/checks.yaml.
"""

from __future__ import annotations

import string
from typing import Any

import pytest
from msgspec.structs import replace

from autoparser import Analysis, ChatTemplate, TurnFormat, analyze, isolated
from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.learning.self_check import self_check
from autoparser.analysis.templates.sandbox_kind import SandboxKind
from autoparser.formats import Presence
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.lanes import sampled

TEMPLATE = turn(REASONING, CONTENT, calls(JSON_CALL, opening="[", separator=", ", close="]"))
TAGS = {"opening": "<calls>", "close": "</calls>"}
APPENDED = calls("{% set _ = seen.append(c.id) %}" + JSON_CALL, **TAGS)


def checked(template: ChatTemplate, analysis: Analysis, format_: TurnFormat) -> Check:
    """Check a format against a template, in the shape that an analysis found."""
    tools, shape = battery_tools(), analysis.shape
    marks = choose_sentinels(template.text)
    return self_check(format_, Prober(template, marks, tokens={}, tools=tools, shape=shape))


CALLS_CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"separator": ","}, "2 calls"),
    ({"section_close": ""}, "1 call"),
    ({"limit": CallLimit.FIRST}, "2 calls"),
    ({"limit": CallLimit.REFUSED}, "2 calls"),
    ({"later_close": "!"}, "2 calls"),
]
TURNS_CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"literals": ("A: ", ".\n")}, "content"),
    ({"refusal": "no"}, "an empty message"),
]


@pytest.mark.parametrize(("changes", "title"), [*CALLS_CHANGED, *TURNS_CHANGED, ({}, "null")])
def test_wrong_format_fails_the_self_check(changes: dict[str, Any], title: str) -> None:
    analysis = analyze(TEMPLATE)
    wrong, calls_format = analysis.format, analysis.format.calls
    assert calls_format is not None
    if (changes, title) in CALLS_CHANGED:
        wrong = replace(wrong, calls=replace(calls_format, **changes))
    elif changes:
        presence = Presence(content="literals" in changes)
        layout = replace(wrong.layouts[presence], **changes)
        wrong = replace(wrong, layouts={**wrong.layouts, presence: layout})
    else:
        arguments = replace(calls_format.arguments, refused=frozenset({JsonType.NULL}))
        wrong = replace(wrong, calls=replace(calls_format, arguments=arguments))
    check = checked(TEMPLATE, analysis, wrong)
    assert not check.ok
    assert any(failure.title.endswith(title) for failure in check.failures)
    assert check.passed + len(check.failures) == check.total
    smallest = check.smallest
    assert smallest is not None
    assert smallest.written != smallest.rendered
    assert smallest.rank == min(failure.rank for failure in check.failures)
    assert smallest.reason


# transformers' sandbox, and templates that it alone forbids.


def appending() -> ChatTemplate:
    return ChatTemplate("{% set seen = [] %}\n" + turn(CONTENT, APPENDED).text, origin="a.jinja")


@pytest.mark.parametrize("isolate", sampled([False, True], 2))
def test_sandbox_error_is_reported_and_fails_the_check(isolate: bool) -> None:
    analysis = analyze(appending(), isolate=isolate)
    check, plain = analysis.check, analyze(turn(CONTENT, calls(**TAGS)))
    assert analysis.format.calls == plain.format.calls
    assert analysis.format.layouts == plain.format.layouts
    assert not check.ok
    assert check.passed == check.equal == check.total - check.crashed
    assert check.forbidden is not None
    assert check.forbidden.line == 3
    assert "append" in check.forbidden.reason
    assert (check.freed, check.different) == (check.crashed, ())
    assert analysis.template.sandbox is SandboxKind.IMMUTABLE
    assert analysis.rendering.sandbox is SandboxKind.MUTABLE
    if isolate:
        assert type(analysis.rendering) is type(isolated(appending()))
    text = 'Look<calls>{"name": "f", "arguments": {"a": 1}}</calls>'
    assert analysis.parser().parse(text) == plain.parser().parse(text)


def test_battery_covers_every_part_type_and_punctuation_sign() -> None:
    cases = battery_messages()
    assert len(cases) >= 40
    assert len({case.title for case in cases}) == len(cases)
    assert len({case.message.presence for case in cases}) == 8
    assert {len(case.message.calls) for case in cases} == {0, 1, 2, 3}
    made = [call for case in cases for call in case.message.calls]
    values = [value for call in made for value in call.arguments.values()]
    assert {json_type(value) for value in values} == {*JsonType}
    texts = [value for value in values if isinstance(value, str)]
    for written in (texts, [case.message.content for case in cases]):
        assert any({*string.punctuation} <= {*text} for text in written)
    offered: Any = {tool["name"]: tool["parameters"] for tool in battery_tools()}
    assert all(call.arguments.keys() <= offered[call.name]["properties"].keys() for call in made)
