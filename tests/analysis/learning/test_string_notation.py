"""How strings are written is learnt from one string that holds all that is ever escaped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.text_format import (
    EdgeStrip,
    StringEscape,
    StringGuard,
    StringText,
    StrippedEdges,
)
from autoparser.analysis.learning.argument_notation import hostile_string, learn_text

WORD = "zwordq"


def rendered(expression: str) -> Callable[[str], str]:
    template = ChatTemplate(f"{{% set s = messages[0].content %}}{expression}")
    return lambda text: template.render([{"role": "user", "content": text}])


@pytest.mark.parametrize(
    ("expression", "expected", "reason"),
    [
        ("{{ s }}", StringText(), "as it is"),
        ("{{ (s|tojson)[1:-1] }}", StringText(escape=StringEscape.JSON), "JSON"),
        (
            "{{ (s|tojson(ensure_ascii=true))[1:-1] }}",
            StringText(escape=StringEscape.JSON_ASCII),
            "JSON, ASCII only",
        ),
        ("{{ [s]|string|trim('[]') }}", StringText(escape=StringEscape.PYTHON), "Python's repr"),
        ("{{ s|e }}", StringText(escape=StringEscape.HTML), "HTML"),
        (
            "{{ s|trim }}",
            StringText(edges=StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)),
            "stripped",
        ),
        (
            "{{ s.lstrip('\\n') }}",
            StringText(edges=StrippedEdges(EdgeStrip.NEWLINES)),
            "newlines on the left",
        ),
        (
            "{{ (s|trim|tojson)[1:-1] }}",
            StringText(
                escape=StringEscape.JSON,
                edges=StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE),
            ),
            "stripped, then JSON",
        ),
        (
            "{% if '<' in s or '&' in s %}![{{ s }}]!{% else %}{{ s }}{% endif %}",
            StringText(guard=StringGuard("<&", "![", "]!")),
            "a wrapper around some strings",
        ),
        (
            "{{ s.replace('&', '+and+').replace('<', '+lt+') }}",
            StringText(escape=StringEscape.TABLE, table={"&": "+and+", "<": "+lt+"}),
            "escapes of its own",
        ),
    ],
)
def test_learn_text(expression: str, expected: StringText, reason: str) -> None:
    write = rendered(expression)
    found = learn_text(write(hostile_string(WORD)), WORD, write)
    assert found == expected, reason


@pytest.mark.parametrize(
    "expression", ["{{ s|upper }}", "{{ s[:5] }}", "{{ s|reverse }}", "nothing of it"]
)
def test_what_cannot_be_explained(expression: str) -> None:
    write = rendered(expression)
    assert learn_text(write(hostile_string(WORD)), WORD, write) is None


@pytest.mark.parametrize(
    "text", ["", "a", " a ", "\n\nx\n", 'q"', "it's", "a<b>&c", "\\n", "日本", "a\tb"]
)
@pytest.mark.parametrize(
    "expression",
    ["{{ s }}", "{{ (s|tojson)[1:-1] }}", "{{ s|e }}", "{{ s|trim }}", "{{ ([s]|string)[1:-1] }}"],
)
def test_what_is_learnt_writes_other_strings(expression: str, text: str) -> None:
    write = rendered(expression)
    found = learn_text(write(hostile_string(WORD)), WORD, write)
    assert found is not None
    assert found.write(text) == write(text)
