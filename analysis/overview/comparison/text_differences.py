r"""The places at which two texts differ, each with the text before it.

Lines are aligned first, then the units of the lines that differ, so that a change far back is not
hidden by another before it:

    left   <s>system\nBe kind.</s>\n<s>user\nHi</s>\n
    right  [s]system\nBe kind.[/s]\n[s]user\nHi[/s]\n

differ at `<s>` and `[s]`, at `</s>` and `[/s]`, each twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from autoparser.analysis.core.alignment import edge_units, is_unit

__all__ = ["TextDifference", "differences"]

CONTEXT = 60
"""Characters that are kept before a difference and from it on."""

MOST_UNITS = 4000
"""Longer blocks are not aligned, which would take long."""

_COINCIDENCE = 2
"""So few equal characters, none of a word, between two differences are one difference."""


@dataclass(frozen=True, slots=True)
class TextDifference:
    """One place at which two texts differ."""

    at: int
    """Where it is in the first text."""
    before: str
    """What both have before it, or what stands there in the first."""
    left: str
    """What the first alone has."""
    right: str
    left_rest: str
    """The first text from there on."""
    right_rest: str
    right_at: int = 0
    """Where it is in the second text."""

    @property
    def unit_before(self) -> str:
        """The last unit before it; empty at the beginning of the texts."""
        line = self.before.splitlines(keepends=True)[-1:]
        return _units(line[0])[-1] if line else ""


@lru_cache(maxsize=4096)
def differences(left: str, right: str) -> tuple[TextDifference, ...]:
    """Return all differences, in the order of the texts."""
    return tuple(
        TextDifference(
            start,
            left[max(0, start - CONTEXT) : start],
            left[start:end],
            right[other_start:other_end],
            left[start : start + CONTEXT],
            right[other_start : other_start + CONTEXT],
            other_start,
        )
        for start, end, other_start, other_end in _places(left, right)
    )


_Place = tuple[int, int, int, int]


def _places(left: str, right: str) -> Iterator[_Place]:
    ours, theirs = left.splitlines(keepends=True), right.splitlines(keepends=True)
    begins, other_begins = _begins(ours), _begins(theirs)
    for start, end, other_start, other_end in _changed(ours, theirs):
        at, other_at = begins[start], other_begins[other_start]
        block = left[at : begins[end]]
        other = right[other_at : other_begins[other_end]]
        for place in _within(block, other):
            yield place[0] + at, place[1] + at, place[2] + other_at, place[3] + other_at


@lru_cache(maxsize=4096)
def _within(left: str, right: str) -> tuple[_Place, ...]:
    ours, theirs = _units(left), _units(right)
    if max(len(ours), len(theirs)) > MOST_UNITS:
        return ((0, len(left), 0, len(right)),)
    begins, other_begins = _begins(ours), _begins(theirs)
    found: list[_Place] = []
    for start, end, other_start, other_end in _changed(ours, theirs):
        place = (begins[start], begins[end], other_begins[other_start], other_begins[other_end])
        if found and _coincidence(left[found[-1][1] : place[0]]):
            place = (found[-1][0], place[1], found[-1][2], place[3])
            found.pop()
        found.append(place)
    return tuple(found)


def _units(text: str) -> list[str]:
    """Cut a text into tags, words, runs of whitespace and single signs."""
    units: list[str] = []
    for piece in edge_units(text):
        # Whatever stands between two units comes as one piece.
        whole = piece.isalnum() or is_unit(piece)
        units += [piece] if whole else _BETWEEN.findall(piece)
    return units


_BETWEEN = re.compile(r"\n+|[^\S\n]+|\w+|[^\w\s]")


def _coincidence(between: str) -> bool:
    return len(between) <= _COINCIDENCE and not any(map(str.isalnum, between))


def _begins(pieces: Sequence[str]) -> list[int]:
    begins = [0]
    for piece in pieces:
        begins.append(begins[-1] + len(piece))
    return begins


def _changed(left: Sequence[str], right: Sequence[str]) -> Iterator[_Place]:
    # Units that come again and again, such as quotes, begin no match in a long block: else it takes
    # time by the square of their number.
    matcher = SequenceMatcher(None, left, right)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "equal":
            yield start, end, other_start, other_end
