"""A whole analysis: what it says of tiny templates, and how it ends where there is nothing."""

from __future__ import annotations

import pytest

from autoparser import AutoparserError, ChatTemplate, TemplateSyntaxError, TemplateUnusableError
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.formats.format_view import (
    CallIdPosition,
    ContentMode,
    ReasoningMode,
    ToolFormat,
)
from tests.analysis.tiny import CONTENT, REASONING, TAGGED_CALL, calls, turn

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
    ("template", "expected", "reason"),
    [
        (turn(CONTENT), ReasoningMode.NONE, "no field shows"),
        (turn(TAGS, CONTENT), ReasoningMode.TAG_BASED, "a block in the turn"),
        (turn(TAGS, CONTENT, prompt="A:<why>"), ReasoningMode.FORCED_OPEN, "the prompt opens it"),
        (
            turn(TAGS, CONTENT, prompt="A:<why>{% if quick %}</why>{% endif %}"),
            ReasoningMode.FORCED_CLOSED,
            "a switch closes it",
        ),
        (
            turn(TAGS.replace("%}<why>", "%}").replace("</why>", "</why> "), CONTENT),
            ReasoningMode.DELIMITER,
            "nothing opens it",
        ),
        (
            turn(f"{{% if m.tool_calls %}}{TAGS}{{% endif %}}", CONTENT, CALLED),
            ReasoningMode.TOOLS_ONLY,
            "only beside calls",
        ),
    ],
)
def test_reasoning_modes(template: ChatTemplate, expected: ReasoningMode, reason: str) -> None:
    analysis = analyze(template)
    assert analysis.check.ok
    assert analysis.view.reasoning is expected, reason


@pytest.mark.parametrize(
    ("part", "expected", "reason"),
    [
        ("", ToolFormat.NONE, "no calls"),
        (CALLED, ToolFormat.JSON_NATIVE, "the name in the JSON"),
        (
            calls("<do={{ f.name }}>{{ f.arguments|tojson }}</do>"),
            ToolFormat.TAG_WITH_JSON,
            "the name in a tag, the arguments in JSON",
        ),
        (calls(TAGGED_CALL), ToolFormat.TAG_WITH_TAGGED, "all in tags"),
    ],
)
def test_tool_formats(part: str, expected: ToolFormat, reason: str) -> None:
    analysis = analyze(turn(CONTENT, part))
    assert analysis.check.ok
    assert analysis.view.tools is expected, reason


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        ("{{ raise_exception('not for you') }}", "not for you", "raises on everything"),
        ("{{ messages[50].content.upper() }}", "raises on every conversation", "crashes always"),
        ("", "renders nothing", "an empty template"),
        ("{% set x = messages %}", "renders nothing", "no output"),
        ("Hello!", "ignores the messages", "the same text always"),
        (
            "{% for m in messages %}{{ m.content }}{{ range(99999)|random }}\n{% endfor %}",
            "different text each time",
            "random text",
        ),
    ],
)
def test_what_cannot_be_analysed(text: str, words: str, reason: str) -> None:
    with pytest.raises(TemplateUnusableError) as error:
        analyze(ChatTemplate(text, origin="t.jinja"))
    line = str(error.value)
    assert line.startswith("t.jinja: "), "the file is named"
    assert words in line, reason
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
