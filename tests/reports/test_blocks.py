"""Every kind of block is shown by every painter: by terminals, as Markdown, and on pages."""

from __future__ import annotations

from html import unescape
from typing import get_args

import pytest
from rich.text import Text

from autoparser.reports.blocks import (
    Block,
    Departure,
    DepartureSide,
    Excerpt,
    Facts,
    Fitted,
    Fold,
    Gap,
    Heading,
    Panel,
    Panels,
    Paragraph,
    Picture,
    ShownDifference,
    Table,
    TableColumn,
    ValueChange,
    ValueChanges,
)
from autoparser.reports.difference import compared
from autoparser.reports.markdown import markdown_text
from autoparser.reports.pages import PageTop, page
from autoparser.reports.terminal import report_text

SAID = Text("said")
BLOCKS: tuple[Block, ...] = (
    Heading(SAID),
    Paragraph(SAID),
    Facts((("label", SAID),)),
    Excerpt((SAID,)),
    ShownDifference(tuple(compared("", "said"))),
    Departure("", (DepartureSide("-", SAID), DepartureSide("+", Text("else")))),
    ValueChanges("title", (ValueChange(Text("name"), SAID, Text("else")),)),
    Table((TableColumn("head"),), ((SAID,),)),
    Fold(Text("summary"), [Paragraph(SAID)]),
    Panels((Panel(Text("title"), [Paragraph(SAID)]),)),
    Picture(
        "counts",
        {"pieces": [(1, "good", "said")], "whole": 1, "words": "said"},
        [Paragraph(SAID)],
    ),
    Fitted(lambda _: [Paragraph(SAID)]),
)


def body(block: Block) -> str:
    text = page(PageTop("t", "k", "n", []), [Heading(Text("H"), "h"), block], "1")
    return unescape(text.partition("H</h2>")[2].partition("</section>")[0])


def test_the_blocks_here_are_all_kinds() -> None:
    assert {type(block) for block in BLOCKS} | {Gap} == set(get_args(Block))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_what_a_block_says_is_in_every_form(block: Block) -> None:
    assert "said" in report_text([block], 80).plain
    assert "said" in markdown_text("t", [block])
    assert "said" in body(block)


def test_a_tree_is_painted_twice_alike() -> None:
    first = report_text(BLOCKS, 30)
    assert report_text(BLOCKS, 30) == first


def test_an_empty_line_is_of_terminals_alone() -> None:
    assert report_text([Gap(), Gap()], 80).plain == "\n"
    assert markdown_text("t", [Gap()]) == "### t\n"


HOSTILE = "@everyone #12 https://evil.example/a_b <img src=x> | `x` [a](javascript:x) *b*"


def test_markdown_makes_nothing_of_what_a_template_says() -> None:
    told = markdown_text(
        "t", [Paragraph(Text(HOSTILE)), Table((TableColumn("h"),), ((Text(HOSTILE),),))]
    )
    assert "`@everyone` `#12` `https://evil.example/a_b` \\<img src=x\\>" in told
    assert "\\[a\\]\\(javascript:x\\) \\*b\\*" in told
    assert told.splitlines()[-1].count(" | ") == 0
