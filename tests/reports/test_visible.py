"""What a person gets to see of a template's text."""

from __future__ import annotations

import pytest

from autoparser.reports import visible
from autoparser.reports.visible import lines, literal, shown

SEEN = [
    # text, what is shown, why
    ("<think>", "<think>", "a marker stays as it is"),
    ("[/TOOL_CALLS] [bold]", "[/TOOL_CALLS] [bold]", "brackets are not markup"),
    ("a\nb\tc", "a↵b⇥c", "frequent whitespace has a sign"),
    ("\x1b[31m\x07\x9b", "\\x1b[31m\\x07\\x9b", "a terminal obeys none of it"),
    ("\r\x00\x7f", "\\r\\x00\\x7f", "control characters"),
    ("a\u202eb\u2066", "a\\u202eb\\u2066", "the writing direction does not change"),
    ("a\u200bb\ufeff\u2060", "a\\u200bb\\ufeff\\u2060", "nothing is invisible"),
    ("a\u2028b\u00a0c", "a\\u2028b\\xa0c", "no space or line end that looks like another"),
    ("\ud800", "\\ud800", "half a character can be printed nowhere"),
    ("naïve 日本語 🚀 ｜▁", "naïve 日本語 🚀 ｜▁", "letters and signs of any script"),
]


@pytest.mark.parametrize(("text", "expected", "why"), SEEN, ids=[why for *_, why in SEEN])
def test_text_is_shown(text: str, expected: str, why: str) -> None:
    del why
    assert visible(text) == expected
    assert visible(text).isprintable()


def test_spaces_at_the_edges_are_shown_and_none_between() -> None:
    assert shown("  a b ") == "␣␣a b␣"
    assert shown("a \n") == "a␣↵"


def test_a_marker_is_no_markup() -> None:
    text = literal("[red]x[/red] [link=http://a]b[/]")
    assert text.plain == "[red]x[/red] [link=http://a]b[/]"
    assert text.spans == []


def test_lines_are_those_that_a_newline_ends() -> None:
    assert [line.plain for line in lines("a\n\nb\u2028c\rd")] == ["a↵", "↵", "b\\u2028c\\rd"]
    assert lines("") == []
