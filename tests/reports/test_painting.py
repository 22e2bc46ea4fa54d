"""Check blocks in terminals, Markdown and pages, escaped texts, and differences."""

from __future__ import annotations

from html import unescape
from typing import Any, get_args

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from autoparser.reports.blocks import (
    Block,
    ComparedTexts,
    Departure,
    DepartureSide,
    DifferencePiece,
    Entries,
    Entry,
    Excerpt,
    Facts,
    Fitted,
    Fold,
    Gap,
    Heading,
    Paragraph,
    Picture,
    ShownDifference,
    Side,
    Table,
    TableColumn,
    TextSide,
    ValueChange,
    ValueChanges,
    compare_texts,
    prose,
    rows,
    table,
)
from autoparser.reports.markdown import markdown_text
from autoparser.reports.pages import PageTop, page
from autoparser.reports.terminal import (
    cut_at_word,
    difference_lines,
    drawn_lines,
    report_text,
    wrap_line,
)
from autoparser.reports.visible import lines, literal, marker_text, visible
from tests.case_tables import load_cases

TABLES: dict[str, Any] = load_cases(__file__, "painting.yaml")
SAID = Text("said")
BLOCKS: tuple[Block, ...] = (
    Heading(SAID),
    Paragraph(SAID),
    Facts((("label", SAID),)),
    Excerpt((SAID,)),
    ShownDifference(tuple(compare_texts("", "said"))),
    Departure("", (DepartureSide("-", SAID), DepartureSide("+", Text("else")))),
    ValueChanges("title", (ValueChange(Text("name"), SAID, Text("else")),)),
    Table((TableColumn("head"),), ((SAID,),)),
    Fold(Text("summary"), [Paragraph(SAID)]),
    Entries((Entry("title", Text("text"), blocks=[Paragraph(SAID)], opened=True),)),
    ComparedTexts((TextSide("left"), TextSide("right")), tuple(compare_texts("", "said"))),
    Picture(
        "counts", {"pieces": [(1, "good", "said")], "whole": 1, "words": "said"}, [Paragraph(SAID)]
    ),
    Fitted(lambda _: [Paragraph(SAID)]),
)


def plain(drawn: list[Text]) -> list[str]:
    return [line.plain for line in drawn]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_block_is_shown_by_every_painter(block: Block) -> None:
    assert "said" in report_text([block], 80).plain
    assert "said" in markdown_text("t", [block])
    text = page(PageTop("t", "k", "n", []), [Heading(Text("H"), "h"), block], "1")
    assert "said" in unescape(text.partition("H</h2>")[2].partition("</section>")[0])


def test_table_covers_every_kind_of_block() -> None:
    assert {type(block) for block in BLOCKS} | {Gap} == set(get_args(Block))
    assert report_text([Gap(), Gap()], 80).plain == "\n"
    assert markdown_text("t", [Gap()]) == "### t\n"
    assert report_text(BLOCKS, 30) == report_text(BLOCKS, 30)


HOSTILE = "@everyone #12 https://evil.example/a_b <img src=x> | `x` [a](javascript:x) *b* @a|b"


def test_template_text_has_no_effect_in_markdown() -> None:
    table = Table((TableColumn("h"),), ((Text(HOSTILE),),))
    text = markdown_text("t", [Paragraph(Text(HOSTILE)), table])
    assert "`@everyone` `#12` `https://evil.example/a_b` \\<img src=x\\>" in text
    assert "\\[a\\]\\(javascript:x\\) \\*b\\*" in text
    assert text.splitlines()[-1].count(" | ") == 0
    changes = ValueChanges("t", (ValueChange(Text("n"), Text("a|b"), Text("c")),))
    assert "| n | `a\\|b` | `c` |" in markdown_text("t", [changes])


@pytest.mark.parametrize(("text", "width", "words", "expected"), TABLES["wrapped"])
def test_text_wraps_at_the_width(text: str, width: int, words: bool, expected: list[str]) -> None:
    assert plain(wrap_line(Text(text), width, words=words)) == expected


def test_wrapping_anywhere_loses_no_character_or_style() -> None:
    text = "<｜tool▁call▁begin｜> x  y\tz" * 9
    for width in range(2, 50):
        pieces = wrap_line(Text(text, style="red"), width, words=False)
        assert "".join(plain(pieces)) == text
        assert all(cell_len(piece.plain) <= width for piece in pieces)
        assert {str(piece.style) for piece in pieces} == {"red"}


def test_facts_print_in_two_columns_with_wrapped_labels() -> None:
    drawn = drawn_lines(rows([("name", Text("a text of words")), ("a", Text("b"))]), 18)
    assert plain(drawn) == ["  name  a text of", "        words", "  a     b"]
    drawn = drawn_lines(rows([("a label without end", Text("text"))]), 40)
    assert plain(drawn) == ["  a label        text", "  without end"]
    drawn = drawn_lines(prose("one two three four five six", hang=2), 24)
    assert plain(drawn) == ["  one two three four", "    five six"]


def test_terminal_shows_open_entries_in_full_and_a_long_reason_once() -> None:
    reason = Text("for a reason that takes more than half of the line")
    one, two = (Entry(name, reason, "T1", blocks=prose(name)) for name in ("one", "two"))
    drawn = drawn_lines([Entries((one, two, replace(one, opened=True)), "Phase")], 60)
    assert plain(drawn) == [
        "  T1 one  for a reason that takes more than half of the line",
        "  T1 two  as above",
        "  T1 one  as above",
        "",
        "Phase T1 one",
        "  for a reason that takes more than half of the line",
        "  one",
    ]
    single = Entries((Entry("one", Text("so"), opened=True),))
    assert plain(drawn_lines([single], 60)) == ["", "one", "  so"]


def test_grouped_table_shows_a_name_once_and_counts_hidden_rows() -> None:
    cells = [("a", "1 2 3 4 5"), ("a", "2"), ("b", "3")]
    drawn = table("c", ("name", "value"), cells, grouped=True, most=2)
    assert report_text(drawn, 30).plain.split("\n") == [
        "  name  value",
        "  a     1 2 3 4 5",
        "        2",
        "  and 1 more",
    ]
    assert "| a | 1 2 3 4 5 |\n|  | 2 |\n| b | 3 |" in markdown_text("t", drawn)


@pytest.mark.parametrize(("text", "expected", "why"), TABLES["visible"])
def test_unprintable_characters_become_escapes(text: str, expected: str, why: str) -> None:
    assert visible(text) == expected, why
    assert visible(text).isprintable()


def test_surrogates_edge_spaces_and_markup_are_shown_literally() -> None:
    assert visible("\ud800") == "\\ud800"
    assert (marker_text("  a b "), marker_text("a \n")) == ("␣␣a b␣", "a␣↵")
    text = literal("[red]x[/red] [link=http://a]b[/]")
    assert (text.plain, text.spans) == ("[red]x[/red] [link=http://a]b[/]", [])
    assert plain(lines("a\n\nb\u2028c\rd")) == ["a↵", "↵", "b\\u2028c\\rd"]
    assert lines("") == []


@pytest.mark.parametrize(("left", "right", "expected"), TABLES["compared"])
def test_compared_texts_split_into_shared_and_differing_pieces(
    left: str, right: str, expected: list[str]
) -> None:
    assert [piece.side.value + piece.text for piece in compare_texts(left, right)] == expected


def test_diff_pieces_of_long_texts_rejoin_to_both() -> None:
    left = "alpha\nbeta gamma\n" * 40 + "x" * 5000
    right = "alpha\nbeta delta\n" * 41 + "y" * 5000
    pieces = compare_texts(left, right)
    for side, text in ((Side.LEFT, left), (Side.RIGHT, right)):
        assert "".join(p.text for p in pieces if p.side in {Side.BOTH, side}) == text


def test_difference_shows_signs_and_shortens_shared_text() -> None:
    before = "".join(f"line {number}\n" for number in range(50))
    pieces = [
        DifferencePiece(Side.BOTH, before),
        DifferencePiece(Side.LEFT, "b\nc"),
        DifferencePiece(Side.RIGHT, "d"),
        DifferencePiece(Side.BOTH, "y" * 1000),
    ]
    drawn = plain(difference_lines(pieces, 80))
    assert drawn[:2] == ["    … 358 unchanged characters", "    line 46↵"]
    assert drawn[5:8] == ["  - b↵", "  - c", "  + d"]
    assert drawn[-1] == "    … 680 unchanged characters"
    drawn = plain(difference_lines([DifferencePiece(Side.LEFT, "z" * 9000)], 80))
    assert drawn[-1] == "  - … 6600 more characters"


def test_one_sided_text_starts_with_its_template_line() -> None:
    pieces = compare_texts("<a>one two</a>", "<a>three\nfour</a>!")
    origins = [(0, 1), (3, 7)], [(0, 1), (3, None), (17, 12)]
    assert plain(difference_lines(pieces, 40, 0, origins)) == [
        "       <a>",
        "   7 - one two",
        "     + three↵",
        "     + four",
        "       </a>",
        "  12 + !",
    ]


def test_long_table_names_are_whole_if_there_is_room() -> None:
    name = "a_name_of_twenty_four_cells"[:24]
    columns = (TableColumn("switch"), TableColumn("value"), TableColumn("effect"))
    table = Table(columns, ((Text(name), Text("true"), Text("changes the prompt text")),))
    assert any(name in line.plain for line in drawn_lines([table], 80))
    # A third of the line is the most.
    assert not any(name in line.plain for line in drawn_lines([table], 60))


def test_line_with_wide_characters_is_cut_after_a_whole_word() -> None:
    line = Text("Stops  `<｜end｜>` after content, `<｜tool｜>`")
    cut_at_word(line, 35)
    assert line.plain == "Stops  `<｜end｜>` after content,"
