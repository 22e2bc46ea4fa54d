"""What a syntax tree suggests to probe with."""

from __future__ import annotations

import pytest
from jinja2 import meta

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.learning.suggestions import Suggestions, suggest_values
from autoparser.analysis.templates.environment import chat_environment, undeclared_names


def suggested(text: str) -> Suggestions:
    return suggest_values(ChatTemplate(text).syntax_tree)


@pytest.mark.parametrize(
    ("text", "variables", "reason"),
    [
        ("plain text", (), "no variables"),
        ("{{ a }}{% if b %}{% endif %}", ("a", "b"), "whatever is read, in the order of reading"),
        ("{% set a = 1 %}{{ a }}", (), "what the template sets itself is none of the caller's"),
        ("{% for m in messages %}{{ m }}{% endfor %}", ("messages",), "loop variables neither"),
        ("{% macro f(x) %}{{ x }}{% endmacro %}{{ f(1) }}", (), "nor macros"),
        (
            "{% if a is not defined %}{% set a = true %}{% endif %}{{ a }}",
            ("a",),
            "unless the template asks whether it is set",
        ),
        ("{% set a = a|default(true) %}{{ a }}", ("a",), "or gives it a default"),
        ("{% set a = a or 1 %}{{ a }}", ("a",), "or reads it where it is first set"),
        ("{% if not a %}{% set a = 1 %}{% endif %}{{ a }}", ("a",), "or before that"),
        (
            "{% macro f(a) %}{{ a is defined }}{% endmacro %}{{ f(1) }}",
            (),
            "a parameter that the macro asks of is nobody else's",
        ),
        (
            "{% macro f(a) %}{{ a is defined }}{% endmacro %}"
            "{% for m in messages %}{% if m.x %}{% set a = f(m) %}{% endif %}{{ a }}{% endfor %}",
            ("messages",),
            "nor is it where the name is another's elsewhere",
        ),
    ],
)
def test_variables(text: str, variables: tuple[str, ...], reason: str) -> None:
    assert suggested(text).variables == variables, reason


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("{{ a == 'x' }}", {"a": ("x",)}, "a comparison"),
        ("{{ 'x' != a }}", {"a": ("x",)}, "the other way round"),
        ("{{ a == 1 or a == 1 or a > 2 }}", {"a": (1, 2, 3)}, "each once, on both sides of >"),
        ("{% set b = a or 'x' %}{{ b == 'y' }}", {"a": ("x", "y")}, "what stands in for it"),
        ("{{ a | default('x') | upper == 'Y' }}", {"a": ("x", "Y")}, "respelled"),
        ("{% set a = a | default('x') %}{{ a == 'y' }}", {"a": ("x", "y")}, "set to itself"),
        ("{% set n = namespace(b=a) %}{{ n.b == 'x' }}", {"a": ("x",)}, "through a namespace"),
        (
            "{% macro f(b) %}{{ b == 'x' }}{% endmacro %}{{ f(a) }}",
            {"a": ("x",)},
            "through a parameter",
        ),
        ("{% set d = {'x': 1, 'y': 2} %}{{ d[a] }}", {"a": ("x", "y")}, "keys of a mapping"),
        ("{% set l = ['x'] %}{{ a in l }}", {"a": ("x",)}, "a list by its name"),
        ("{{ 'x' in a }}", {"a": (["x"], "x")}, "a list or a text that holds it"),
        ("{{ a in ['x', 'y'] }}{{ a in ('z',) }}", {"a": ("x", "y", "z")}, "in a list"),
        ("{{ m.role == 'user' }}", {}, "an attribute is not a variable"),
        ("{{ a == b }}", {}, "no constant"),
        ("{{ a.x }}{{ 'y' in a }}{{ a == 'x' }}", {"a": ("x",)}, "keys of an object are no values"),
    ],
)
def test_values(text: str, values: dict[str, tuple[Json, ...]], reason: str) -> None:
    assert suggested(text).values == values, reason


@pytest.mark.parametrize(
    ("text", "structures", "reason"),
    [
        ("{{ a.b == 'x' }}", {"a": ({"b": "x"},)}, "a word of a part"),
        ("{{ a.b.upper() }}", {"a": ({"b": "other"},)}, "a method is no part"),
        ("{{ a.upper() }}", {}, "nor makes it an object of a text"),
        ("{% for k in a %}{{ k.n }}{% endfor %}", {"a": ([{"n": "other"}],)}, "a list of objects"),
        ("{{ a.b in ['x', 'y', 'z'] }}", {"a": ({"b": "x"}, {"b": "y"})}, "two words of each"),
        ("{% set n = namespace(b=a) %}{{ n.b.c == 'x' }}", {"a": ({"c": "x"},)}, "in a namespace"),
        ("{{ messages[0].role == 'user' }}", {}, "what every render passes is known"),
        ("{{ 'x' in a }}", {}, "a list or a text may hold it, too"),
        ("{{ a[b] }}", {"a": ({"other": "other"},)}, "any key"),
    ],
)
def test_structures(text: str, structures: dict[str, tuple[Json, ...]], reason: str) -> None:
    assert suggested(text).structures == structures, reason


def test_flags_are_asked_whether_they_are_true() -> None:
    text = "{% if a and b == 'x' %}{% endif %}{{ c or 'x' }}{{ 1 if d is true }}{{ e == 'x' }}"
    assert suggested(text).flags == {"a", "c", "d"}


@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("{{ m.content }}", ("content",), "an attribute"),
        ("{{ m['tool_calls'] }}", ("tool_calls",), "an item"),
        ("{{ m[0] }}", (), "a number is not a field"),
        ("{{ 'hints' in m }}", ("hints",), "a name that is asked for"),
        ("{{ 'two words' in m }}", (), "no name"),
    ],
)
def test_fields(text: str, fields: tuple[str, ...], reason: str) -> None:
    assert suggested(text).fields == fields, reason


def test_constants_are_those_of_expressions() -> None:
    found = suggested("<out>{{ '<in>' ~ m.content.split('</in>')[-1] }}")
    assert found.constants == ("<in>", "</in>")


@pytest.mark.parametrize(
    "text",
    [
        "{% set x = x or 'a' %}{{ x }}",
        "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ d }}{% endmacro %}{% set a = a | default('') %}",
        "{% for m in messages %}{% set y = m %}{{ y }}{{ loop.index }}{% endfor %}{{ y }}",
        "{% set ns = namespace(n=0) %}{% if z %}{% set z = 1 %}{% endif %}{{ raise_exception }}",
        "{% generation %}{% set w = 'a' ~ 'b' %}{{ w }}{% endgeneration %}{{ w }}",
        "{% call m() %}{{ inner }}{% endcall %}{{ 'no' if q is defined }}",
    ],
)
def test_compiled_templates_know_what_jinja_finds_undeclared(text: str) -> None:
    tree = ChatTemplate(text).syntax_tree
    expected = meta.find_undeclared_variables(chat_environment().parse(text))
    assert undeclared_names(tree) == expected
    assert expected, "a template without such names would show nothing"


def test_what_was_only_parsed_has_the_same_undeclared_names() -> None:
    tree = chat_environment().parse("{% set x = x or y %}{{ x }}")
    assert undeclared_names(tree) == {"x", "y"}
