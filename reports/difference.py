"""Two texts and where they differ, to the character."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TypeAlias

from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

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


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    """A run of characters of one text, or of both."""

    side: Side
    text: str


def compare_texts(left: str, right: str) -> list[DifferencePiece]:
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


def line_at(origins: LineOrigins, at: int) -> str:
    """Return the template's line that wrote a character; the empty text where it is not known."""
    number = bisect_right(origins, at, key=lambda each: each[0]) - 1
    line = origins[number][1] if number >= 0 else None
    return "" if line is None else str(line)
