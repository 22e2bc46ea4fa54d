"""How one string is written: edges, escapes, guards."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from autoparser import ChatTemplate
from autoparser.analysis.core.text_format import Edges, Escape, StringGuard, Strip, Text

PADDED = "\n\n a b \n\n"


@pytest.mark.parametrize(
    ("left", "right", "expected", "reason"),
    [
        (Strip.NOTHING, Strip.NOTHING, "\n\n a b \n\n", "as it is"),
        (Strip.NEWLINE, Strip.NOTHING, "\n a b \n\n", "one newline"),
        (Strip.NOTHING, Strip.NEWLINE, "\n\n a b \n", "one newline"),
        (Strip.NEWLINES, Strip.NEWLINES, " a b ", "newlines, no spaces"),
        (Strip.WHITESPACE, Strip.NOTHING, "a b \n\n", "all whitespace"),
        (Strip.WHITESPACE, Strip.WHITESPACE, "a b", "all whitespace"),
    ],
)
def test_edges(left: Strip, right: Strip, expected: str, reason: str) -> None:
    assert Edges(left, right).apply(PADDED) == expected, reason


@given(st.text(st.sampled_from("\n\t a"), max_size=12))
def test_edges_are_what_templates_do(text: str) -> None:
    assert Edges(Strip.WHITESPACE, Strip.WHITESPACE).apply(text) == text.strip()
    assert Edges(Strip.NEWLINES, Strip.NOTHING).apply(text) == text.lstrip("\n")
    assert Edges(Strip.NOTHING, Strip.NEWLINES).apply(text) == text.rstrip("\n")
    assert Edges().apply(text) == text


@given(st.sampled_from(Strip), st.sampled_from(Strip), st.text(max_size=12))
def test_edges_only_take_away(left: Strip, right: Strip, text: str) -> None:
    stripped = Edges(left, right).apply(text)
    assert stripped in text
    assert stripped.strip() == text.strip()


@given(st.text())
def test_escapes_are_what_jinja_and_python_write(text: str) -> None:
    assert f'"{Text(escape=Escape.JSON).write(text)}"' == json.dumps(text, ensure_ascii=False)
    assert f'"{Text(escape=Escape.JSON_ASCII).write(text)}"' == json.dumps(text)
    assert Text(escape=Escape.PYTHON).write(text) == repr(text)
    assert Text().write(text) == text


@given(st.text(max_size=20))
def test_html_is_what_the_filter_writes(text: str) -> None:
    template = ChatTemplate("{{ messages[0].content|e }}|{{ messages[0].content|tojson|e }}")
    shown = template.render([{"role": "user", "content": text}])
    plain = Text(escape=Escape.HTML).write(text)
    inner = Text("&#34;", "&#34;", Escape.JSON_HTML).write(text)
    assert shown == f"{plain}|{inner}"


@pytest.mark.parametrize(
    ("text", "written", "expected", "reason"),
    [
        (Text("<q>", "</q>"), "a", "<q>a</q>", "quotes"),
        (Text('"', '"', Escape.JSON), 'a"\n', '"a\\"\\n"', "quotes and escapes"),
        (Text(escape=Escape.PYTHON), "it's", '"it\'s"', "Python chooses its quotes"),
        (Text(edges=Edges(Strip.WHITESPACE)), "  a ", "a ", "edges first"),
        (
            Text(escape=Escape.TABLE, table={"a": "[a]", "é": ""}),
            "baé",
            "b[a]",
            "one character after another",
        ),
        (Text(guard=StringGuard("<&", "![", "]")), "a b", "a b", "no guarded character"),
        (Text(guard=StringGuard("<&", "![", "]")), "a<b", "![a<b]", "a guarded character"),
        (
            Text("(", ")", Escape.JSON, guard=StringGuard("\n", "{", "}")),
            "a\n",
            "({a\\n})",
            "the guard stands inside the quotes, around the escapes",
        ),
    ],
)
def test_write(text: Text, written: str, expected: str, reason: str) -> None:
    assert text.write(written) == expected, reason
