"""The painter of pages: whatever stands in a block is text, and no address leaves the page."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from rich.style import Style
from rich.text import Text

from autoparser.reports.blocks import (
    Block,
    Excerpt,
    Facts,
    Fold,
    Heading,
    Paragraph,
    ShownDifference,
    Table,
    TableColumn,
    link,
    sentence,
    small,
    tagged,
)
from autoparser.reports.difference import compared
from autoparser.reports.pages import PageTop, address, page, signs
from autoparser.reports.visible import quoted


def body(*blocks: Block) -> str:
    text = page(PageTop("t", "k", "n", []), [Heading(Text("H"), "h"), *blocks], "1")
    return text.partition('<h2 id="h-title">H</h2>')[2].partition("</section>")[0].strip()


WRITTEN = [
    ("text", "a < b & c", "<p>a &lt; b &amp; c</p>"),
    ("a tag", "<script>", "<p>&lt;script&gt;</p>"),
    ("an entity", "&lt;", "<p>&amp;lt;</p>"),
    ("an escape", "\x1b[31m\x00", "<p>\\x1b[31m\\x00</p>"),
    ("writing direction", "\u202ea\u2066", "<p>\\u202ea\\u2066</p>"),
    ("nothing to see", "\u200b\u115f\ufe0f\u2800", "<p>\\u200b\\u115f\\ufe0f\\u2800</p>"),
    ("half a character", "\ud800", "<p>\\ud800</p>"),
]


@pytest.mark.parametrize(
    ("words", "expected"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN]
)
def test_words_are_escaped(words: str, expected: str) -> None:
    assert body(Paragraph(Text(words))) == expected


def test_no_kind_of_block_lets_markup_through() -> None:
    bad = '"><script>x()</script>'
    text = Text(bad)
    column = TableColumn(bad, title=bad, bar_of=2)
    shown = body(
        Heading(text, lead=bad),
        Facts(((bad, text),), asides=(bad,)),
        Excerpt((text,), label=bad),
        ShownDifference(tuple(compared(bad, f"x{bad}")), label=bad),
        Table((column, column), ((text, Text("1")),), caption=bad, asides=(bad,)),
        Fold(text, [Paragraph(sentence(small(bad), tagged(bad, "q"), quoted(bad)))]),
    )
    assert "<script" not in shown
    assert shown.count("x()") > 12


def test_words_have_their_looks() -> None:
    words = sentence(quoted("<a>"), (" no", "bold red"), " ", link("there", "#x"))
    assert body(Paragraph(words)) == (
        '<p><code class="mark">&lt;a&gt;</code><span class="bold bad"> no</span>'
        ' <a href="#x">there</a></p>'
    )


def test_signs_are_shown_apart() -> None:
    assert signs("a\n<b>") == 'a<span class="sign">↵</span>\n&lt;b&gt;'


@pytest.mark.parametrize(
    "value",
    ["http://example.org", "//x.html", "javascript:alert(1)", "data:text/html,x", "../x.html"],
)
def test_no_address_leaves_the_page(value: str) -> None:
    with pytest.raises(ValueError, match="leads out of the page"):
        address(value)
    with pytest.raises(ValueError, match="leads out of the page"):
        body(Paragraph(link("there", value)))


@pytest.mark.parametrize(
    "meta", [{"tag": "img"}, {"tag": "a", "onclick": "x()"}, {"tag": "script"}]
)
def test_words_are_in_no_other_element(meta: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="words have no element"):
        body(Paragraph(Text("x", Style(meta=meta))))


def test_the_templates_have_no_handler_and_check_each_address() -> None:
    folder = files("autoparser.reports") / "page_templates"
    for name in ("page.jinja", "blocks.jinja", "pictures.jinja"):
        text = folder.joinpath(name).read_text("utf-8")
        assert not re.findall(r"\s(?:on\w+|style|src|action)=", text)
        addresses = [each.partition(">")[0] for each in text.split('href="')[1:]]
        assert all(each[:6] in ('#main"', "data:,") or "| address }}" in each for each in addresses)
        # What is marked as safe is our own style sheet and script, in Python.
        assert "safe" not in text
        assert "autoescape" not in text
