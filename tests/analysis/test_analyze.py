"""Templates that cannot be analyzed, and those that look as if they could not."""

from __future__ import annotations

import pytest

from autoparser import AutoparserError, ChatTemplate, analyze
from autoparser.errors import TemplateUnusableError
from tests.analysis.tiny import CONTENT, calls, turn


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{# one #}\n\n{{ raise_exception('no') }}", "t.jinja: line 3: "),
        ("{{ messages[50].content.upper() }}", "raises on every conversation"),
        ("", "renders nothing"),
    ],
)
def test_unusable_template_error_is_one_line(text: str, words: str) -> None:
    with pytest.raises(TemplateUnusableError) as error:
        analyze(ChatTemplate(text, origin="t.jinja"))
    line = str(error.value)
    assert line.startswith("t.jinja: "), "the file is named"
    assert words in line
    assert line.isprintable()
    assert error.value.hint, "it says what to do"


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
def test_hostile_template_error_is_one_line(text: str) -> None:
    with pytest.raises(AutoparserError) as error:
        analyze(ChatTemplate(text))
    assert str(error.value).isprintable()


def test_megabyte_of_text_is_analyzed_in_few_renders() -> None:
    analysis = analyze(ChatTemplate("x" * 1_000_000 + turn(CONTENT, calls()).text))
    assert analysis.check.ok
    assert analysis.renders < 200


def test_template_with_todays_date_is_not_random() -> None:
    analysis = analyze(turn(CONTENT, opening="A {{ strftime_now('%H:%M:%S') }}:"))
    assert analysis.check.ok
