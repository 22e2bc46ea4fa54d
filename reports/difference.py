"""Two texts and where they differ, to the character."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TypeAlias

from rich.text import Text

from autoparser.analysis.core.alignment import prefix_length, suffix_length

from .layout import Lines, sentence, wrapped
from .visible import lines

__all__ = ["DifferencePiece", "LineOrigins", "Side", "compared", "difference_lines", "line_at"]

ALIKE_LINES = 4
ALIKE_CHARACTERS = 320
DIFFERENT_CHARACTERS = 2400
COMPARED_CHARACTERS = 4000
"""Longer middles are not aligned character by character, which takes time by their square."""


class Side(StrEnum):
    """Which of two texts a piece is of; the value is the sign in the margin."""

    BOTH = " "
    LEFT = "-"
    RIGHT = "+"


LineOrigins: TypeAlias = Sequence[tuple[int, int | None]]
"""Where in a text another line of the template begins to write, and which; None: not known."""

_MARGIN = 5
"""What the number of a line has room for, with a space after it."""

_STYLES = {Side.BOTH: "dim", Side.LEFT: "red", Side.RIGHT: "green"}


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    """A run of characters of one text, or of both."""

    side: Side
    text: str


def compared(left: str, right: str) -> list[DifferencePiece]:
    """Cut two texts into what both have and what each has alone."""
    start = prefix_length(left, right)
    end = suffix_length(left[start:], right[start:])
    middle_left, middle_right = left[start : len(left) - end], right[start : len(right) - end]
    pieces = [DifferencePiece(Side.BOTH, left[:start])]
    if max(len(middle_left), len(middle_right)) > COMPARED_CHARACTERS:
        pieces += [
            DifferencePiece(Side.LEFT, middle_left),
            DifferencePiece(Side.RIGHT, middle_right),
        ]
    else:
        pieces += _aligned(middle_left, middle_right)
    pieces.append(DifferencePiece(Side.BOTH, left[len(left) - end :]))
    return [piece for piece in pieces if piece.text]


SHORTEST_MATCH = 4
"""Fewer equal characters between two differences are a coincidence."""


def _aligned(left: str, right: str) -> Iterator[DifferencePiece]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    at_left = at_right = 0
    for match in matcher.get_matching_blocks():
        if match.size and match.size < SHORTEST_MATCH:
            continue
        yield DifferencePiece(Side.LEFT, left[at_left : match.a])
        yield DifferencePiece(Side.RIGHT, right[at_right : match.b])
        yield DifferencePiece(Side.BOTH, left[match.a : match.a + match.size])
        at_left, at_right = match.a + match.size, match.b + match.size


def difference_lines(
    pieces: Sequence[DifferencePiece],
    width: int,
    indent: int = 2,
    origins: tuple[LineOrigins, LineOrigins] | None = None,
) -> Lines:
    """Draw pieces one below the other, each line with its side's sign in the margin.

    Of what both texts have only the lines beside a difference are drawn. `origins` are those of
    the two texts: what one side has alone begins with the line of the template that wrote it.
    """
    drawn: Lines = []
    margin = 0 if origins is None else _MARGIN
    reached = {Side.LEFT: 0, Side.RIGHT: 0}
    for at, piece in enumerate(pieces):
        style = _STYLES[piece.side]
        number = ""
        if piece.side is Side.BOTH:
            texts = _context(piece.text, first=at == 0, last=at == len(pieces) - 1)
        else:
            texts = _limited(piece.text, style)
            if origins is not None:
                number = line_at(origins[piece.side is Side.RIGHT], reached[piece.side])
        for text in texts:
            for line in wrapped(text, max(width - indent - 2 - margin, 10), words=False):
                label = (f"{number:>{margin - 1}} " if margin else "", "dim")
                drawn.append(sentence(" " * indent, label, (f"{piece.side.value} ", style), line))
                number = ""
        for side in reached:
            reached[side] += len(piece.text) if piece.side in {Side.BOTH, side} else 0
    return drawn


def line_at(origins: LineOrigins, at: int) -> str:
    """Return the template's line that wrote a character; the empty text where it is not known."""
    number = bisect_right(origins, at, key=lambda each: each[0]) - 1
    line = origins[number][1] if number >= 0 else None
    return "" if line is None else str(line)


def _limited(text: str, style: str) -> Lines:
    left = len(text) - DIFFERENT_CHARACTERS
    if left <= 0:
        return lines(text, style)
    return [*lines(text[:DIFFERENT_CHARACTERS], style), _left_out(left, "more characters")]


def _left_out(count: int, what: str) -> Text:
    return Text(f"… {count} {what}", style="dim italic")


def _context(text: str, *, first: bool, last: bool) -> Lines:
    """Keep the end of what stands before a difference, the beginning of what stands after."""
    head = "" if first else _beginning(text)
    tail = "" if last else _end(text)
    if len(head) + len(tail) >= len(text):
        return lines(text, "dim")
    left_out = _left_out(len(text) - len(head) - len(tail), "characters that both have")
    return [*lines(head, "dim"), left_out, *lines(tail, "dim")]


def _beginning(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:ALIKE_LINES])[:ALIKE_CHARACTERS]


def _end(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[-ALIKE_LINES:])[-ALIKE_CHARACTERS:]
