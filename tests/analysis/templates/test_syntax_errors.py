"""Broken Jinja is an error with its line, its column where it can be known, and a caret."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate, TemplateSyntaxError


def syntax_error(text: str) -> TemplateSyntaxError:
    with pytest.raises(TemplateSyntaxError) as caught:
        ChatTemplate(text, origin="chat.jinja").check_syntax()
    assert str(caught.value).startswith("chat.jinja: ")
    assert str(caught.value).isprintable()
    assert caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "excerpt"),
    [
        ("a\n{{ foo bar }}\n", 2, ("2 | {{ foo bar }}", "  |        ^")),
        ("\r\n\r\n {% for x y %}", 3, ("3 |  {% for x y %}", "  |           ^")),
        ("{{ ? }}", 1, ("1 | {{ ? }}", "  |    ^")),
        ("x {{ 'a }}", 1, ("1 | x {{ 'a }}", "  |      ^")),
        ("{{ x | nofilter }}", 1, ("1 | {{ x | nofilter }}", "  |        ^")),
        ("{{ x is notest }}", 1, ("1 | {{ x is notest }}", "  |         ^")),
        ("{%- endif %}", 1, ("1 | {%- endif %}", "  |     ^")),
        ("{# a #}\n  {%- set x = -%}", 2, ("2 |   {%- set x = -%}", "  |               ^")),
        ("{{ a\n", 1, ("1 | {{ a",)),
        ("\t\x1b{{ foo bar }}", 1, ("1 |   {{ foo bar }}", "  |          ^")),
    ],
)
def test_a_caret_under_the_place(text: str, line: int, excerpt: tuple[str, ...]) -> None:
    error = syntax_error(text)
    assert error.line == line
    assert tuple(error.excerpt.split("\n")) == excerpt
    if len(excerpt) == 2:
        assert error.column == excerpt[1].index("^") - excerpt[0].index("|") - 1
        assert f"line {line}, column {error.column}: " in str(error)
    else:
        assert error.column is None
        assert f"line {line}: " in str(error)


def test_a_block_that_is_never_closed() -> None:
    error = syntax_error("{% if x %}\ntext")
    assert error.line is not None
    assert "endif" in str(error)


def test_a_long_line_is_cut_around_the_caret() -> None:
    error = syntax_error("a" * 5000 + "{{ foo bar }}" + "b" * 5000)
    assert error.column == 5008
    shown, caret = error.excerpt.split("\n")
    assert len(shown) < 90
    assert shown[caret.index("^") :].startswith("bar }}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "{% for x in y %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
            id="what Python refuses",
        ),
        pytest.param("{{ " + "(" * 5000, id="what is nested too deep"),
        pytest.param("{% if a %}" * 200 + "{% endif %}" * 200, id="blocks nested too deep"),
    ],
)
def test_what_cannot_be_compiled(text: str) -> None:
    assert "cannot compile" in str(syntax_error(text))


def test_a_render_meets_the_same_error() -> None:
    with pytest.raises(TemplateSyntaxError):
        ChatTemplate("{{").render([{"role": "user", "content": "hi"}])
    with pytest.raises(TemplateSyntaxError):
        _ = ChatTemplate("{{").syntax_tree
