"""Sets of Unicode characters, as ranges of code points.

For example, the digits without one of them:

    >>> (CodePoints.of("09") - CodePoints.among("5")).ranges
    ((48, 52), (54, 57))
    >>> len(CodePoints.of("az") & CodePoints.among("a-c").inverse())
    24
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class CodePoints(Struct, frozen=True):
    """A set of characters; surrogates belong to none, since UTF-8 cannot write them."""

    ranges: tuple[tuple[int, int], ...] = ()
    """First and last code point of each range, ascending, neither touching the next, e.g. ((97,
    122),) for `[a-z]`."""

    @classmethod
    def of(cls, *ranges: str | tuple[int, int]) -> CodePoints:
        """Return the union of single characters, of two-character ranges, and of number pairs.

        A text of one character is that character; one of two is the range between them.
        """
        return cls(_normal(_bounds(item) for item in ranges))

    @classmethod
    def among(cls, characters: str) -> CodePoints:
        """Return the set of the characters of a text."""
        if len(characters) == 1 and characters < "\ud800":
            return cls(((ord(characters), ord(characters)),))
        return cls(_normal((ord(character), ord(character)) for character in characters))

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints(_normal([*self.ranges, *other.ranges]))

    def __and__(self, other: CodePoints) -> CodePoints:
        if self.ranges == other.ranges:
            return self
        found = [
            (max(first, start), min(last, end))
            for first, last in self.ranges
            for start, end in other.ranges
            if max(first, start) <= min(last, end)
        ]
        return CodePoints(_normal(found))

    def __sub__(self, other: CodePoints) -> CodePoints:
        return self & other.inverse()

    def __len__(self) -> int:
        return sum(last + 1 - first for first, last in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def inverse(self) -> CodePoints:
        """Return all characters that are not in this set."""
        gaps: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            gaps.append((start, first - 1))
            start = last + 1
        gaps.append((start, LAST))
        # Nothing lies before a range that begins at 0, or behind one that ends at `LAST`.
        return CodePoints(_normal(gap for gap in gaps if gap[0] <= gap[1]))

    @property
    def single(self) -> str | None:
        """The character, if the set holds just one."""
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return chr(self.ranges[0][0])
        return None


LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


def _bounds(item: str | tuple[int, int]) -> tuple[int, int]:
    return (ord(item[0]), ord(item[-1])) if isinstance(item, str) else item


def _normal(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(_without_surrogates([*ranges])):
        # Ranges that touch become one, e.g. a-c and d-f.
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _without_surrogates(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    low, high = SURROGATES
    found: list[tuple[int, int]] = []
    # A range across the surrogates becomes two.
    for first, last in ranges:
        if first < low:
            found.append((first, min(last, low - 1)))
        if last > high:
            found.append((max(first, high + 1), last))
    return found


ANY = CodePoints.of((0, LAST))
