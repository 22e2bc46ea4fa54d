"""Two texts, drawn with where they differ."""

from __future__ import annotations

import pytest

from autoparser.reports.difference import DifferencePiece, Side, compared
from autoparser.reports.terminal import difference_lines

COMPARED = [
    # left, right, pieces
    ("same", "same", " same"),
    ("", "new", "+new"),
    ("old", "", "-old"),
    ("<a>x</a>", "<a>y</a>", " <a>|-x|+y| </a>"),
    ("head one tail", "head tail", " head |-one | tail"),
    ("1 shared words 2", "3 shared words 4", "-1|+3|  shared words |-2|+4"),
    # Few equal characters at random do not tear a difference apart.
    ("abxcd", "efxgh", "-abxcd|+efxgh"),
]


@pytest.mark.parametrize(("left", "right", "expected"), COMPARED)
def test_texts_are_compared(left: str, right: str, expected: str) -> None:
    pieces = compared(left, right)
    assert "|".join(piece.side.value + piece.text for piece in pieces) == expected


def test_the_pieces_give_both_texts_back() -> None:
    left = "alpha\nbeta gamma\n" * 40 + "x" * 5000
    right = "alpha\nbeta delta\n" * 41 + "y" * 5000
    pieces = compared(left, right)
    both = {Side.BOTH}
    for side, text in ((Side.LEFT, left), (Side.RIGHT, right)):
        assert "".join(p.text for p in pieces if p.side in both | {side}) == text


def test_every_line_has_its_sign() -> None:
    pieces = [
        DifferencePiece(Side.BOTH, "a\n"),
        DifferencePiece(Side.LEFT, "b\nc"),
        DifferencePiece(Side.RIGHT, "d"),
    ]
    drawn = [line.plain for line in difference_lines(pieces, 40)]
    assert drawn == ["    a↵", "  - b↵", "  - c", "  + d"]


def test_of_what_both_have_the_ends_beside_a_difference_are_drawn() -> None:
    before = "".join(f"line {number}\n" for number in range(50))
    pieces = [
        DifferencePiece(Side.BOTH, before),
        DifferencePiece(Side.LEFT, "x"),
        DifferencePiece(Side.BOTH, "y" * 1000),
    ]
    drawn = [line.plain for line in difference_lines(pieces, 80)]
    assert drawn[:2] == ["    … 358 characters that both have", "    line 46↵"]
    assert drawn[5] == "  - x"
    assert drawn[-1] == "    … 680 characters that both have"


def test_a_long_difference_is_cut_and_says_so() -> None:
    drawn = difference_lines([DifferencePiece(Side.LEFT, "z" * 9000)], 80)
    assert drawn[-1].plain == "  - … 6600 more characters"


def test_what_one_side_has_alone_begins_with_the_line_that_wrote_it() -> None:
    pieces = compared("<a>one two</a>", "<a>three\nfour</a>!")
    origins = [(0, 1), (3, 7)], [(0, 1), (3, None), (17, 12)]
    drawn = [line.plain for line in difference_lines(pieces, 40, 0, origins)]
    assert drawn == [
        "       <a>",
        "   7 - one two",
        "     + three↵",
        "     + four",
        "       </a>",
        "  12 + !",
    ]
