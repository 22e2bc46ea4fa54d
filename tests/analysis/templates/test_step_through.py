"""What a traced render says happened: who wrote what, what was tested, with which values."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autoparser import ChatTemplate
from autoparser.analysis.core.errors import Limit, TemplateLimitError, TemplateRenderError
from autoparser.analysis.templates.encoded_template import isolated
from autoparser.analysis.templates.render_trace import RenderTrace, StepKind
from autoparser.analysis.templates.trace_recorder import MOST_STEPS
from autoparser.analysis.templates.worker_limits import Limits

FIXTURES = Path(__file__).parents[3] / "fixtures"

WRITTEN = [
    (
        "in macros",
        "{% macro tag(x) %}<{{ x }}>{% endmacro %}\n{{ tag('ab') }}!",
        [("<", 1, [2]), ("ab", 1, [2]), (">", 1, [2]), ("!", 2, [])],
    ),
    (
        "in a macro of a macro",
        "{% macro a(x) %}<{{ x }}{% endmacro %}\n"
        "{% macro b(x) %}\n{{ a(x) }}>{% endmacro %}\n{{ b('q') }}",
        [("<", 1, [3, 4]), ("q", 1, [3, 4]), (">", 3, [4])],
    ),
    (
        "in a block that is put out later",
        "{% set s %}\nab{{ c }}\n{% endset %}\n{{ s }}{{ s }}",
        [("ab", 2, [4]), ("\n", 2, [4]), ("ab", 2, [4]), ("\n", 2, [4])],
    ),
    (
        "inside a longer expression, less what a filter took away",
        "{% macro m(x) %}\n [{{ x }}] \n{% endmacro %}\n{{ 'a ' ~ m('b')|trim ~ '!' }}",
        [("a ", 4, []), ("[", 2, [4]), ("b", 2, [4]), ("]", 2, [4]), ("!", 4, [])],
    ),
    (
        "in a block for training",
        "a\n{% generation %}\nb{{ 'c' }}{% endgeneration %}",
        [("a\n", 1, []), ("b", 3, []), ("c", 3, [])],
    ),
    (
        "in a loop that calls itself",
        "{% for x in [1, [2]] recursive %}\n{% if x is number %}\n{{ x }}\n{% else %}\n"
        "<{{ loop(x) }}>\n{% endif %}{% endfor %}",
        [("1", 3, []), ("\n", 3, []), ("<", 5, []), ("2", 3, [5]), ("\n", 3, [5]), (">\n", 5, [])],
    ),
    (
        # What a macro gives back may be the very text that it was given.
        "by a name whose value a macro has written before",
        "{% macro m(x) %}{{ x }}{% endmacro %}\n{% set s = m(a) %}\n{{ a }}{{ s }}",
        [("word", 3, []), ("word", 1, [3])],
    ),
    (
        "twice in one expression, which tells the expression alone",
        "{% macro m(x) %}<{{ x }}>{% endmacro %}\n{{ m(1) ~ m(1) }}",
        [("<1><1>", 2, [])],
    ),
]


WORD = "word"


def step_through(text: str, **variables: object) -> RenderTrace:
    return ChatTemplate(text).step_through(variables)


@pytest.mark.parametrize(
    ("text", "expected"), [each[1:] for each in WRITTEN], ids=[each[0] for each in WRITTEN]
)
def test_each_piece_has_the_line_that_wrote_it(
    text: str, expected: list[tuple[str, int, list[int]]]
) -> None:
    trace = step_through(text, a=WORD, c="")
    found = [
        (
            piece.text,
            None if piece.site is None else trace.sites[piece.site].line,
            [trace.sites[site].line for site in piece.through],
        )
        for piece in trace.pieces
    ]
    assert found == expected
    assert trace.prompt == ChatTemplate(text).render_prepared({"a": "word", "c": ""})


def asked(trace: RenderTrace) -> list[tuple[str, bool | None, dict[str, str]]]:
    return [
        (trace.source(step.site), step.held, {each.name: each.words for each in step.seen})
        for step in trace.steps
        if step.kind is StepKind.TEST
    ]


def test_a_test_tells_the_names_that_it_asked_for_and_no_others() -> None:
    trace = step_through("{% if a or b.c %}x{% elif d is defined %}y{% endif %}", a=0, b={"c": ""})
    assert asked(trace) == [
        ("a or b.c", False, {"a": "0", "b.c": "''"}),
        ("d is defined", False, {"d": "undefined"}),
    ]
    assert asked(step_through("{% if a or b.c %}x{% endif %}", a=1)) == [
        ("a or b.c", True, {"a": "1"})
    ]


def test_tests_inside_expressions_and_loops_have_places_of_their_own() -> None:
    text = (
        "{% for k, v in x.items() if v.if != 2 and k in ('a', 'b') %}"
        "{{ {'k': (k if k == 'a' else '-'), 'w': v if v else 0}.k }}{% endfor %}"
        "{{ 1 if x else 2 if y else 3 }}"
    )
    trace = step_through(text, x={"a": 1, "c": 2})
    assert asked(trace) == [
        (
            "v.if != 2 and k in ('a', 'b')",
            True,
            {"v.if": "undefined", "k": "'a'"},
        ),
        ("k == 'a'", True, {"k": "'a'"}),
        ("v", True, {"v": "1"}),
        (
            "v.if != 2 and k in ('a', 'b')",
            False,
            {"v.if": "undefined", "k": "'c'"},
        ),
        ("x", True, {"x": "{'a': 1, 'c': 2}"}),
    ]


def test_loops_tell_each_pass_and_variables_what_they_are_set_to() -> None:
    trace = step_through("{% for m in ms %}{% set n = m.a|length %}{% endfor %}", ms=[{"a": "xy"}])
    assert [(step.kind, step.words, step.number) for step in trace.steps] == [
        (StepKind.LOOP, "[{'a': 'xy'}]", 0),
        (StepKind.PASS, "{'a': 'xy'}", 1),
        (StepKind.SET, "2", 0),
    ]


def test_a_piece_has_the_tests_that_let_it_be_written() -> None:
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


FAILING = [
    ("{% if a %}x{% endif %}\n{{ a.b.c }}", 2, "x", [("{{ a.b.c }}", [])]),
    ("x{{ a + 1 }}", 1, "x", [("{{ a + 1 }}", [("a", "'word'")])]),
    ("x{% for b in c %}{% endfor %}", 1, "x", [("for b in c", [("c", "none")])]),
    (
        "{% macro m(x) %}{{ x + 1 }}{% endmacro %}x\n{{ m(a) }}",
        1,
        "x\n",
        [("{{ m(a) }}", [("a", "'word'")]), ("{{ x + 1 }}", [("x", "'word'")])],
    ),
]


@pytest.mark.parametrize(("text", "line", "prompt", "ended_in"), FAILING)
def test_a_failure_tells_what_was_at_work(
    text: str, line: int, prompt: str, ended_in: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    variables = {"a": "word", "c": None}
    trace = step_through(text, **variables)
    with pytest.raises(TemplateRenderError) as raised:
        ChatTemplate(text).render_prepared(variables)
    assert trace.failure is not None
    assert str(trace.failure) == str(raised.value)
    assert trace.failure.line == line
    assert trace.prompt == prompt
    assert [
        (trace.source(each.site), [(seen.name, seen.words) for seen in each.seen])
        for each in trace.ended_in
    ] == ended_in


def test_a_worker_tells_the_same_and_holds_it_to_limits() -> None:
    template = ChatTemplate("a{% for x in range(n) %}{% if x %}-{% endif %}{% endfor %}")
    held = isolated(template, Limits(characters=100))
    assert held.step_through({"n": 3}) == template.step_through({"n": 3})
    trace = held.step_through({"n": 500})
    assert isinstance(trace.failure, TemplateLimitError)
    assert trace.failure.limit is Limit.OUTPUT
    assert trace.prompt.startswith("a---")


def test_later_steps_are_counted_alone() -> None:
    trace = step_through("{% for x in range(n) %}{% endfor %}-", n=MOST_STEPS + 5)
    assert (len(trace.steps), trace.left_out) == (MOST_STEPS, 6)
    assert trace.prompt == "-"


def test_values_are_cut() -> None:
    trace = step_through(
        "{% if a %}{% endif %}{% if b %}{% endif %}", a="x" * 9999, b=[[[[1]]]] * 99
    )
    assert [len(value) <= 200 for _, _, seen in asked(trace) for value in seen.values()] == [
        True,
        True,
    ]


TEMPLATES = sorted((FIXTURES / "templates").glob("*.jinja"))
CONVERSATION = yaml.safe_load((FIXTURES / "conversations.yaml").read_text("utf-8"))["two-calls"]
TOOLS = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))


@pytest.mark.parametrize("path", TEMPLATES[::7], ids=lambda path: path.stem)
def test_a_traced_render_writes_what_any_other_does(path: Path) -> None:
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
    for piece in trace.pieces:
        assert piece.site is not None
        source = trace.source(piece.site)
        # A plain text is its place's own; nothing is cut from it.
        assert source.startswith("{{") or piece.text == source
