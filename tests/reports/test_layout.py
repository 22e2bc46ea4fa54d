"""Lines broken at a width."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.text import Text

from autoparser.reports.blocks import prose, rows
from autoparser.reports.terminal import drawn_lines, wrapped

BROKEN = [
    # text, width, at words, lines
    ("one two three", 7, True, ["one two", "three"]),
    ("one two three", 8, True, ["one two", "three"]),
    ("incomprehensible", 6, True, ["incomp", "rehens", "ible"]),
    ("a incomprehensible", 6, True, ["a", "incomp", "rehens", "ible"]),
    ("one two", 5, False, ["one", " two"]),
    ("twelve eleven", 10, False, ["twelve", " eleven"]),
    ("a twelve eleven", 7, False, ["a twelv", "e eleve", "n"]),
    ("=twelve<b>one</b>", 12, False, ["=twelve", "<b>one</b>"]),
    ("=twelve[[b]]one", 10, False, ["=twelve", "[[b]]one"]),
    ("日本語日本語", 5, False, ["日本", "語日", "本語"]),
    ("", 5, True, [""]),
]


@pytest.mark.parametrize(("text", "width", "words", "expected"), BROKEN)
def test_a_text_is_broken(text: str, width: int, words: bool, expected: list[str]) -> None:
    assert [line.plain for line in wrapped(Text(text), width, words=words)] == expected


def test_nothing_is_lost_where_lines_are_broken_anywhere() -> None:
    text = "<｜tool▁call▁begin｜> x  y\tz" * 9
    for width in range(2, 50):
        pieces = wrapped(Text(text), width, words=False)
        assert "".join(piece.plain for piece in pieces) == text
        assert all(cell_len(piece.plain) <= width for piece in pieces)


def test_a_style_reaches_over_the_break() -> None:
    first, second = wrapped(Text("aaaabbbb", style="red"), 4, words=False)
    assert (str(first.style), str(second.style)) == ("red", "red")


def test_rows_stand_in_two_columns() -> None:
    drawn = drawn_lines(rows([("name", Text("a text of words")), ("a", Text("b"))]), 18)
    assert [line.plain for line in drawn] == ["  name  a text of", "        words", "  a     b"]


def test_a_long_label_is_broken_too() -> None:
    drawn = drawn_lines(rows([("a label without end", Text("text"))]), 40)
    assert [line.plain for line in drawn] == ["  a label        text", "  without end"]


def test_prose_hangs() -> None:
    drawn = drawn_lines(prose("one two three four five six", hang=2), 24)
    assert [line.plain for line in drawn] == ["  one two three four", "    five six"]
