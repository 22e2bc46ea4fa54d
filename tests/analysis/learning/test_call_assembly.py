"""Frames and arguments, learnt from tiny templates."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.call_format import ArgumentFormat, CallLimit
from autoparser.analysis.core.call_notation import MemberOrder
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_alignment import RepeatedText
from autoparser.analysis.learning.call_frame import CallsFrame, learn_frame
from tests.analysis.tiny import CONTENT, JSON_CALL, TAGGED_CALL, calls, observer_of, turn

NAME = "(call {{ f.name }} {{ f.arguments|tojson }})"
FIRST = calls(NAME).replace("m.tool_calls %}{% set", "m.tool_calls[:1] %}{% set")
LAST = calls(NAME).replace("m.tool_calls %}{% set", "m.tool_calls[-1:] %}{% set")
ONE_ONLY = (
    "{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}"
)


def frame_of(*parts: str) -> CallsFrame:
    frame = learn_frame(observer_of(turn(CONTENT, *parts)))
    assert frame is not None
    return frame


@pytest.mark.parametrize(
    ("part", "expected", "reason"),
    [
        (
            calls("<c>{{ f.name }} {{ f.arguments|tojson }}</c>"),
            RepeatedText("A:", "<c>", "", "</c>", ".\n"),
            "a wrapper around each",
        ),
        (
            calls(JSON_CALL, opening="[", separator=", ", close="]"),
            RepeatedText("A:[", '{"name": "', ", ", '"}}', "].\n"),
            "a list",
        ),
        (
            calls("<c>{{ f.name }} {{ f.arguments|tojson }}</c>", opening="<s>", close="</s>"),
            RepeatedText("A:<s>", "<c>", "", "</c>", "</s>.\n"),
            "a section around wrappers",
        ),
    ],
)
def test_repetition(part: str, expected: RepeatedText, reason: str) -> None:
    found = frame_of(part).repetition
    assert found.prefix + found.open == expected.prefix + expected.open, reason
    assert (found.separator, found.open) == (expected.separator, expected.open), reason
    assert found.suffix == expected.suffix, reason


@pytest.mark.parametrize(
    ("parts", "expected", "reason"),
    [
        ((calls(NAME),), CallLimit.MANY, "several"),
        ((FIRST,), CallLimit.FIRST, "the first alone"),
        ((LAST,), CallLimit.LAST, "the last alone"),
        ((ONE_ONLY, calls(NAME)), CallLimit.REFUSED, "a second is refused"),
    ],
)
def test_limits(parts: tuple[str, ...], expected: CallLimit, reason: str) -> None:
    assert frame_of(*parts).limit is expected, reason


@pytest.mark.parametrize(
    ("part", "counts", "base", "reason"),
    [
        (calls(NAME), False, 0, "not numbered"),
        (calls("{{ loop.index0 }}" + NAME), True, 0, "from nought, before the name"),
        (
            calls("(call {{ f.name }}:{{ loop.index }} {{ f.arguments|tojson }})"),
            True,
            1,
            "from one",
        ),
        (calls(NAME + "#{{ loop.index }};"), True, 1, "behind the call"),
    ],
)
def test_numbers(part: str, counts: bool, base: int, reason: str) -> None:
    frame = frame_of(part)
    assert frame.counts is counts, reason
    assert frame.index_base == base, reason


def test_a_template_that_closes_only_later_calls() -> None:
    frame = frame_of(calls(NAME + "{% if not loop.first %}!{% endif %}", separator=","))
    assert frame.later_close == "!"


def test_no_call_is_shown() -> None:
    assert learn_frame(observer_of(turn(CONTENT))) is None


def arguments_of(template: ChatTemplate) -> ArgumentFormat:
    calls_of_template = analyze(template).format.calls
    assert calls_of_template is not None
    return calls_of_template.arguments


GIVEN: dict[str, Json] = {"b": 'say "hi"\n', "A": [1, "é", None], "c": {"d": True}}


def with_arguments(expression: str) -> ChatTemplate:
    return turn(CONTENT, calls(f"(call {{{{ f.name }}}} {expression})"))


@pytest.mark.parametrize(
    ("expression", "expected", "reason"),
    [
        (
            "{{ f.arguments|tojson }}",
            '{"b": "say \\"hi\\"\\n", "A": [1, "é", null], "c": {"d": true}}',
            "JSON",
        ),
        (
            "{{ f.arguments|tojson(sort_keys=true) }}",
            '{"A": [1, "é", null], "b": "say \\"hi\\"\\n", "c": {"d": true}}',
            "sorted",
        ),
        (
            "{{ f.arguments|tojson(separators=(',', ':')) }}",
            '{"b":"say \\"hi\\"\\n","A":[1,"é",null],"c":{"d":true}}',
            "compact",
        ),
        (
            "{{ f.arguments|tojson(ensure_ascii=true) }}",
            '{"b": "say \\"hi\\"\\n", "A": [1, "\\u00e9", null], "c": {"d": true}}',
            "ASCII only",
        ),
        (
            "{{ f.arguments|tojson(indent=2) }}",
            '{\n  "b": "say \\"hi\\"\\n",\n  "A": [\n    1,\n    "é",\n    null\n  ],\n'
            '  "c": {\n    "d": true\n  }\n}',
            "indented",
        ),
        (
            "{{ f.arguments }}",
            "{'b': 'say \"hi\"\\n', 'A': [1, 'é', None], 'c': {'d': True}}",
            "Python's repr",
        ),
        (
            "{% for k, v in f.arguments.items() %}{{ k }}={{ v|tojson }};{% endfor %}",
            'b="say \\"hi\\"\\n";A=[1, "é", null];c={"d": true};',
            "entries of JSON values",
        ),
        (
            "{% for k, v in f.arguments|dictsort %}<{{ k }}>"
            "{{ v if v is string else v|tojson }}</{{ k }}>{% endfor %}",
            '<A>[1, "é", null]</A><b>say "hi"\n</b><c>{"d": true}</c>',
            "entries whose strings are bare, sorted without case",
        ),
        (
            "{% for k, v in f.arguments.items() %}{{ k }}:"
            "{% if v is string %}s{% else %}j{% endif %}="
            "{{ v if v is string else v|tojson }}{% if not loop.last %}, {% endif %}{% endfor %}",
            'b:s=say "hi"\n, A:j=[1, "é", null], c:j={"d": true}',
            "entries that name their type",
        ),
    ],
)
def test_arguments(expression: str, expected: str, reason: str) -> None:
    template = with_arguments(expression)
    observer = observer_of(template)
    shown = observer.text_of_arguments(GIVEN)
    assert shown is not None
    assert expected in shown, "the expectation is what the template writes"
    found = arguments_of(template)
    written = found.write(GIVEN)
    assert written in shown, reason
    assert written.strip() == expected.strip() or expected in f"{written};", reason


def test_the_caller_s_own_text_is_pasted() -> None:
    found = arguments_of(turn(CONTENT, calls("({{ f.name }} {{ f.arguments + '' }})")))
    assert found.verbatim
    assert found.write({"a": "é"}) == '{"a": "é"}'


@pytest.mark.parametrize(
    ("expression", "order"),
    [
        ("{{ f.arguments|tojson }}", MemberOrder.GIVEN),
        ("{{ f.arguments|tojson(sort_keys=true) }}", MemberOrder.SORTED),
        (
            "{% for k, v in f.arguments|dictsort %}{{ k }}={{ v }};{% endfor %}",
            MemberOrder.SORTED_FOLDED,
        ),
    ],
)
def test_order(expression: str, order: MemberOrder) -> None:
    assert arguments_of(with_arguments(expression)).members.order is order


def test_a_type_that_a_template_refuses() -> None:
    expression = (
        "{% for k, v in f.arguments.items() %}"
        "{% if v is none %}{{ raise_exception('null') }}{% endif %}"
        "{{ k }}={{ v }};{% endfor %}"
    )
    assert arguments_of(with_arguments(expression)).refused == {JsonType.NULL}


def test_a_type_that_a_template_drops() -> None:
    expression = (
        "{% for k, v in f.arguments.items() if v is not none %}{{ k }}={{ v }};{% endfor %}"
    )
    found = arguments_of(with_arguments(expression))
    assert found.members.row(JsonType.NULL) is None
    assert found.write({"a": None}) == ""


def test_the_tiny_tagged_call() -> None:
    found = arguments_of(turn(CONTENT, calls(TAGGED_CALL)))
    assert found.write({"a": "x", "b": 1}) == "[a=x][b=1]"
