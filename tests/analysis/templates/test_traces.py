"""Traced renders: the source of each text, the tested conditions, and their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace, StepKind
from autoparser.analysis.templates.source_text import template_tokens
from autoparser.analysis.templates.trace_recorder import MOST_STEPS
from autoparser.errors import TemplateRenderError, TemplateSyntaxError
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import TEMPLATES

FIXTURES = TEMPLATES.parent
table = case_tables(__file__, "traces.yaml")


def step_through(text: str, **variables: object) -> RenderTrace:
    return ChatTemplate(text).step_through(variables)


@table("written")
def test_piece_has_the_line_that_wrote_it(case: Any) -> None:
    trace = step_through(case["text"], a="word", c="")
    lines = [site.line for site in trace.sites]
    found = [
        [
            piece.text,
            None if piece.site is None else lines[piece.site],
            [lines[site] for site in piece.through],
        ]
        for piece in trace.pieces
    ]
    assert found == case["pieces"]
    assert trace.prompt == ChatTemplate(case["text"]).render_prepared({"a": "word", "c": ""})


@table("spans")
def test_span_has_the_place_that_wrote_it(case: Any) -> None:
    spans = ChatTemplate(case["text"]).source_map(case["variables"]).spans
    found = [[span.text, case["text"][span.start : span.end]] for span in spans]
    assert found == case["spans"]


@table("failures")
def test_failed_render_trace_shows_active_loops_and_macros(case: Any) -> None:
    trace = step_through(case["text"], a="word", c=None)
    assert trace.failure is not None
    assert (trace.failure.line, trace.prompt) == (case["line"], case["prompt"])
    found = [
        [trace.source(site.site), [[seen.name, seen.words] for seen in site.seen]]
        for site in trace.ended_in
    ]
    assert found == case["ended_in"]


@table("syntax")
def test_syntax_error_has_a_caret_at_its_place(case: Any) -> None:
    error = syntax_error(case["text"])
    assert error.line == case["line"]
    excerpt = error.excerpt.split("\n")
    assert excerpt == case["excerpt"]
    if len(excerpt) == 2:
        assert error.column == excerpt[1].index("^") - excerpt[0].index("|") - 1
        assert f"line {error.line}, column {error.column}: " in str(error)
    else:
        assert error.column is None
        assert f"line {error.line}: " in str(error)


def syntax_error(text: str) -> TemplateSyntaxError:
    with pytest.raises(TemplateSyntaxError) as caught:
        ChatTemplate(text, origin="chat.jinja").check_syntax()
    assert str(caught.value).startswith("chat.jinja: ")
    assert str(caught.value).isprintable()
    assert caught.value.__context__ is None
    return caught.value


def test_long_line_excerpt_is_cut_around_the_caret() -> None:
    error = syntax_error("a" * 5000 + "{{ foo bar }}" + "b" * 5000)
    assert error.column == 5008
    shown, caret = error.excerpt.split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^") :].startswith("bar }}")
    assert "endif" in str(syntax_error("{% if x %}\ntext"))


def test_uncompilable_template_is_a_syntax_error() -> None:
    for text in (
        "{% for x in y %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
        "{{ " + "(" * 5000,
        "{% if a %}" * 200 + "{% endif %}" * 200,
    ):
        assert "cannot compile" in str(syntax_error(text))
        with pytest.raises(TemplateSyntaxError):
            _ = ChatTemplate(text).syntax_tree


def asked(trace: RenderTrace) -> list[tuple[str, bool | None, dict[str, str]]]:
    return [
        (trace.source(step.site), step.held, {value.name: value.words for value in step.seen})
        for step in trace.steps
        if step.kind is StepKind.TEST
    ]


@table("tests")
def test_trace_of_a_test_lists_only_the_read_names(case: Any) -> None:
    found = asked(step_through(case["text"], **case["variables"]))
    assert [[test, held, seen] for test, held, seen in found] == case["tests"]


def test_trace_shows_loop_passes_and_assigned_values() -> None:
    trace = step_through("{% for m in ms %}{% set n = m.a|length %}{% endfor %}", ms=[{"a": "xy"}])
    assert [(step.kind, step.words, step.number) for step in trace.steps] == [
        (StepKind.LOOP, "[{'a': 'xy'}]", 0),
        (StepKind.PASS, "{'a': 'xy'}", 1),
        (StepKind.SET, "2", 0),
    ]


def test_piece_has_the_tests_that_let_it_be_written() -> None:
    text = "{% for m in ms %}{% if m == 1 %}a{% elif m == 2 %}b{% else %}c{% endif %}{% endfor %}"
    trace = step_through(text, ms=[2, 3])
    reasons = [
        (piece.text, [(trace.source(step.site), step.held) for step in trace.reasons(piece)])
        for piece in trace.pieces
    ]
    loop = ("for m in ms", None)
    assert reasons == [
        ("b", [loop, ("m == 1", False), ("m == 2", True)]),
        ("c", [loop, ("m == 1", False), ("m == 2", False)]),
    ]


def test_trace_counts_steps_over_its_limit_and_cuts_values() -> None:
    trace = step_through("{% for x in range(n) %}{% endfor %}-", n=MOST_STEPS + 5)
    assert (len(trace.steps), trace.left_out) == (MOST_STEPS, 6)
    assert trace.prompt == "-"
    trace = step_through("{% if a %}{% endif %}{% if b %}{% endif %}", a="x" * 9999, b=[[[1]]] * 99)
    assert all(len(value) <= 200 for _, _, seen in asked(trace) for value in seen.values())


CONVERSATION = yaml.safe_load((FIXTURES / "conversations.yaml").read_text("utf-8"))["two-calls"]
TOOLS = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.jinja"))[::9], ids=lambda path: path.stem)
def test_traced_render_equals_the_plain_render(path: Path) -> None:
    template = ChatTemplate(path.read_text("utf-8"))
    variables = template.variables(CONVERSATION["messages"], TOOLS, True)
    trace = template.step_through(variables)
    failure = None
    try:
        text = template.render_prepared(variables)
    except TemplateRenderError as raised:
        text, failure = trace.prompt, raised
    assert str(trace.failure) == str(failure)
    assert trace.prompt == text
    if failure is None:
        spans = template.source_map(variables).spans
        assert "".join(span.text for span in spans) == text
    for piece in trace.pieces:
        assert piece.site is not None
        source = trace.source(piece.site)
        # A plain text is the whole source of its place.
        assert source.startswith("{{") or piece.text == source


def test_template_tokens_have_the_offsets_of_their_text() -> None:
    text = "a {%- if b -%}  {{ c }}{% endif %}"
    for token in template_tokens(text):
        assert text[token.start : token.end] == token.value
    assert [token.value for token in template_tokens("{% if %}{{ 'open }}")][:2] == ["{%", " "]


TURNS = load_cases(__file__, "traces.yaml")["turns"]


def test_characters_and_texts_have_the_line_that_wrote_them() -> None:
    text = "a\r\n{% if x %}\r\nb{{ x }}{% endif %}"
    written = ChatTemplate(text).source_map({"x": "yz"})
    assert [written.line_at(at) for at in range(-1, 6)] == [None, 1, 1, 3, 3, 3, None]
    written = ChatTemplate(TURNS).source_map({"messages": [{"role": "user", "content": "one"}]})
    lines = {"<": 5, "user": 5, "user>": 5, ">": 5, "one": 6, "ONE": 7, "two": None}
    assert {text: written.line_of(text) for text in lines} == lines


def test_text_of_a_macro_is_mapped_into_it_on_request() -> None:
    template = ChatTemplate("{% macro bold(x) %}\n*{{ x }}{% endmacro %}\n{{ bold('a') }}")
    at = template.render_prepared({}).index("a")
    assert template.source_map({}).line_at(at) == 3
    assert template.source_map({}, in_macros=True).line_at(at) == 2
