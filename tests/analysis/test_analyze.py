"""A whole analysis of tiny templates, and the errors of templates that cannot be analyzed."""

from __future__ import annotations

import pytest

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.formats.format_view import (
    CallIdPosition,
    ContentMode,
    ReasoningMode,
    ToolFormat,
)
from autoparser.errors import TemplateSyntaxError, TemplateUnusableError
from tests.analysis.tiny import CONTENT, REASONING, calls, turn

TAGS = "{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}"
CALLED = calls('<do>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</do>')


def test_a_whole_analysis() -> None:
    analysis = analyze(turn(TAGS, CONTENT, CALLED, end="<end>\n"))
    view = analysis.view
    assert analysis.check.ok
    assert (view.reasoning, view.content) == (ReasoningMode.TAG_BASED, ContentMode.PLAIN)
    assert (view.tools, view.call_id) == (ToolFormat.JSON_NATIVE, CallIdPosition.NONE)
    assert analysis.markers.items() == {
        "reasoning_start": "<why>",
        "reasoning_end": "</why>",
        "per_call_start": "<do>",
        "per_call_end": "</do>",
    }
    assert analysis.format.stop_strings == ("<end>",)
    message = Message("Hi", "Hm", (ToolCall("f", {"a": 1}), ToolCall("g")))
    assert analysis.format.write(message) == (
        'A:<why>Hm</why>Hi<do>{"name": "f", "arguments": {"a": 1}}</do>'
        '<do>{"name": "g", "arguments": {}}</do><end>\n'
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ raise_exception('not for you') }}", "not for you"),
        ("{{ messages[50].content.upper() }}", "raises on every conversation"),
        ("", "renders nothing"),
        ("{% set x = messages %}", "renders nothing"),
        ("Hello!", "ignores the messages"),
        (
            "{% for m in messages %}{{ m.content }}{{ range(99999)|random }}\n{% endfor %}",
            "different text each time",
        ),
    ],
)
def test_an_unusable_template_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(TemplateUnusableError) as error:
        analyze(ChatTemplate(text, origin="t.jinja"))
    line = str(error.value)
    assert line.startswith("t.jinja: "), "the file is named"
    assert words in line
    assert line.isprintable()
    assert error.value.hint, "it says what to do"


def test_the_line_of_a_refusal_is_named() -> None:
    with pytest.raises(TemplateUnusableError) as error:
        analyze(ChatTemplate("{# one #}\n\n{{ raise_exception('no') }}", origin="t.jinja"))
    assert error.value.line == 3
    assert str(error.value).startswith("t.jinja: line 3: ")


def test_broken_syntax_has_a_place() -> None:
    with pytest.raises(TemplateSyntaxError) as error:
        analyze(ChatTemplate("{% for m in messages %}\n  {{ m.content ! }}\n{% endfor %}"))
    assert (error.value.line, error.value.column) == (2, 16)
    assert error.value.excerpt.endswith("^")
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages|length / 0 }}",
        "{% for m in messages %}{{ m.content }}{{ m.nothing.at_all }}{% endfor %}",
        "{{ ''.__class__.__mro__ }}",
        "{% include 'other' %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x' * (2 ** 70) }}",
    ],
)
def test_hostile_templates_end_in_one_line(text: str) -> None:
    with pytest.raises(AutoparserError) as error:
        analyze(ChatTemplate(text))
    assert str(error.value).isprintable()


def test_a_megabyte_of_text() -> None:
    analysis = analyze(ChatTemplate("x" * 1_000_000 + turn(CONTENT, CALLED).text))
    assert analysis.check.ok
    assert analysis.renders < 200


def test_unknown_special_tokens_have_stand_ins() -> None:
    template = turn(CONTENT, end="{{ eos_token }}\n")
    analysis = analyze(template)
    assert analysis.stand_ins == {"eos_token": "<eos_token>"}
    assert analysis.format.stop_strings == ("<eos_token>",)
    known = analyze(ChatTemplate(template.text, {"eos_token": "<END>"}))
    assert known.stand_ins == {}
    assert known.format.stop_strings == ("<END>",)


def test_a_template_that_names_its_day_is_no_random_one() -> None:
    analysis = analyze(turn(CONTENT, opening="A {{ strftime_now('%H:%M:%S') }}:"))
    assert analysis.check.ok


def test_two_analyses_are_alike() -> None:
    template = turn(REASONING, CONTENT, calls())
    one, other = analyze(template), analyze(ChatTemplate(template.text))
    assert (one.format, one.view, one.renders) == (other.format, other.view, other.renders)
    assert [finding.conclusion for finding in one.phases] == [
        finding.conclusion for finding in other.phases
    ]
