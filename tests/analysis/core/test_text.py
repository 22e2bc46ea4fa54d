"""How one string is written: edges, escapes, guards."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from autoparser import ChatTemplate
from autoparser.analysis.core.text_format import (
    EdgeStrip,
    StringEscape,
    StringGuard,
    StringText,
    StrippedEdges,
)

PADDED = "\n\n a b \n\n"


@pytest.mark.parametrize(
    ("left", "right", "expected", "reason"),
    [
        (EdgeStrip.NOTHING, EdgeStrip.NOTHING, "\n\n a b \n\n", "as it is"),
        (EdgeStrip.NEWLINE, EdgeStrip.NOTHING, "\n a b \n\n", "one newline"),
        (EdgeStrip.NOTHING, EdgeStrip.NEWLINE, "\n\n a b \n", "one newline"),
        (EdgeStrip.NEWLINES, EdgeStrip.NEWLINES, " a b ", "newlines, no spaces"),
        (EdgeStrip.WHITESPACE, EdgeStrip.NOTHING, "a b \n\n", "all whitespace"),
        (EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE, "a b", "all whitespace"),
    ],
)
def test_edges(left: EdgeStrip, right: EdgeStrip, expected: str, reason: str) -> None:
    assert StrippedEdges(left, right).apply(PADDED) == expected, reason


@given(st.text(st.sampled_from("\n\t a"), max_size=12))
def test_edges_are_what_templates_do(text: str) -> None:
    assert StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE).apply(text) == text.strip()
    assert StrippedEdges(EdgeStrip.NEWLINES, EdgeStrip.NOTHING).apply(text) == text.lstrip("\n")
    assert StrippedEdges(EdgeStrip.NOTHING, EdgeStrip.NEWLINES).apply(text) == text.rstrip("\n")
    assert StrippedEdges().apply(text) == text


@given(st.sampled_from(EdgeStrip), st.sampled_from(EdgeStrip), st.text(max_size=12))
def test_edges_only_take_away(left: EdgeStrip, right: EdgeStrip, text: str) -> None:
    stripped = StrippedEdges(left, right).apply(text)
    assert stripped in text
    assert stripped.strip() == text.strip()


@given(st.text())
def test_escapes_are_what_jinja_and_python_write(text: str) -> None:
    assert f'"{StringText(escape=StringEscape.JSON).write(text)}"' == json.dumps(
        text, ensure_ascii=False
    )
    assert f'"{StringText(escape=StringEscape.JSON_ASCII).write(text)}"' == json.dumps(text)
    assert StringText(escape=StringEscape.PYTHON).write(text) == repr(text)
    assert StringText().write(text) == text


@given(st.text(max_size=20))
def test_html_is_what_the_filter_writes(text: str) -> None:
    template = ChatTemplate("{{ messages[0].content|e }}|{{ messages[0].content|tojson|e }}")
    shown = template.render([{"role": "user", "content": text}])
    plain = StringText(escape=StringEscape.HTML).write(text)
    inner = StringText("&#34;", "&#34;", StringEscape.JSON_HTML).write(text)
    assert shown == f"{plain}|{inner}"


@pytest.mark.parametrize(
    ("text", "written", "expected", "reason"),
    [
        (StringText("<q>", "</q>"), "a", "<q>a</q>", "quotes"),
        (StringText('"', '"', StringEscape.JSON), 'a"\n', '"a\\"\\n"', "quotes and escapes"),
        (StringText(escape=StringEscape.PYTHON), "it's", '"it\'s"', "Python chooses its quotes"),
        (StringText(edges=StrippedEdges(EdgeStrip.WHITESPACE)), "  a ", "a ", "edges first"),
        (
            StringText(escape=StringEscape.TABLE, table={"a": "[a]", "é": ""}),
            "baé",
            "b[a]",
            "one character after another",
        ),
        (StringText(guard=StringGuard("<&", "![", "]")), "a b", "a b", "no guarded character"),
        (StringText(guard=StringGuard("<&", "![", "]")), "a<b", "![a<b]", "a guarded character"),
        (
            StringText("(", ")", StringEscape.JSON, guard=StringGuard("\n", "{", "}")),
            "a\n",
            "({a\\n})",
            "the guard stands inside the quotes, around the escapes",
        ),
    ],
)
def test_write(text: StringText, written: str, expected: str, reason: str) -> None:
    assert text.write(written) == expected, reason
