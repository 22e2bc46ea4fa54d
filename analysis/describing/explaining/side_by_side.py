"""Two texts of one message side by side: the template's, and the model's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from autoparser.analysis.core.alignment import edge_units, is_unit, prefix_length

from .explanation import Deviation, Explanation

_SPACE = re.compile(r"(\s+)")
MOST_TOKENS = 3000
"""Longer middles are taken as one difference: aligning takes time by the square of it."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch in which two texts differ."""

    offset: int
    """In the model's text."""
    expected: str
    found: str

    @property
    def deviation(self) -> Deviation:
        """Say how they differ."""
        wanted, there = _bare(self.expected), _bare(self.found)
        if wanted == there:
            return Deviation.SPACE
        if not there:
            return Deviation.MISSING
        if not wanted:
            return Deviation.SURPLUS
        return Deviation.ORDER if Counter(wanted) == Counter(there) else Deviation.OTHER


def differences(expected: str, found: str) -> list[Explanation]:
    """Name the differences, those that are alike together.

    `<f>{"a": 1}</f>` against `<f>{"a":1}` lacks a space after the colon, and lacks `</f>`.
    """
    return _grouped(_moved(list(_regions(expected, found))))


def _regions(expected: str, found: str) -> Iterator[_Region]:
    start = prefix_length(expected, found)
    # No marker is cut in two: the tokens begin where the texts do.
    left, right = _tokens(expected), _tokens(found)
    same = _same(left, right)
    at = sum(map(len, right[:same]))
    before = right[:same]
    left, right = left[same:], right[same:]
    if max(len(left), len(right)) > MOST_TOKENS:
        yield _Region(start, expected[start:], found[start:])
        return
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for kind, from_left, to_left, from_right, to_right in matcher.get_opcodes():
        wanted, there = left[from_left:to_left], right[from_right:to_right]
        if kind != "equal":
            yield _trimmed(*_slid(before, wanted, there), at)
        before += there
        at += sum(map(len, there))


def _slid(before: Sequence[str], wanted: list[str], there: list[str]) -> tuple[str, str, int]:
    """Move what only one text has to the left, as far as it reads the same there.

    Between `{"` and `arguments`, `name": "f", "` is missing; that is `"name": "f", ` after `{`.
    """
    alone = wanted or there
    moved = 0
    while (
        not (wanted and there)
        and moved < len(before)
        and before[-1 - moved] == alone[-1]
        and not alone[-1].isspace()
    ):
        alone.insert(0, alone.pop())
        moved += 1
    back = sum(map(len, before[len(before) - moved :]))
    return "".join(wanted), "".join(there), back


def _trimmed(wanted: str, there: str, back: int, at: int) -> _Region:
    """Leave out the whitespace that both begin and end with."""
    start = at - back
    while wanted and there and wanted[0] == there[0] and wanted[0].isspace():
        wanted, there, start = wanted[1:], there[1:], start + 1
    while wanted and there and wanted[-1] == there[-1] and wanted[-1].isspace():
        wanted, there = wanted[:-1], there[:-1]
    return _Region(start, wanted, there)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for unit in edge_units(text):
        pieces = [unit] if is_unit(unit) else _SPACE.split(unit)
        for piece in pieces:
            # Signs between words mean something each: `"}}`.
            tokens += [piece] if piece.isalnum() or piece.isspace() or is_unit(piece) else piece
    return [token for token in tokens if token]


def _same(left: Sequence[str], right: Sequence[str]) -> int:
    limit = min(len(left), len(right))
    return next((at for at in range(limit) if left[at] != right[at]), limit)


def _moved(regions: list[_Region]) -> list[_Region]:
    """Put together what is missing in one place and stands in another."""
    found: list[_Region] = []
    for region in regions:
        at = next((at for at, other in enumerate(found) if _swaps(other, region)), None)
        if at is None:
            found.append(region)
        else:
            other = found[at]
            found[at] = _Region(
                min(other.offset, region.offset),
                other.expected if _bare(other.expected) else region.expected,
                other.found if _bare(other.found) else region.found,
            )
    return found


def _swaps(one: _Region, other: _Region) -> bool:
    kinds = {one.deviation, other.deviation}
    wanted = _bare(one.expected) + _bare(other.expected)
    there = _bare(one.found) + _bare(other.found)
    return kinds == {Deviation.MISSING, Deviation.SURPLUS} and Counter(wanted) == Counter(there)


def _grouped(regions: Sequence[_Region]) -> list[Explanation]:
    found: dict[tuple[str, ...], Explanation] = {}
    for region in regions:
        kind = region.deviation
        alike = kind is Deviation.SPACE
        key = (kind,) if alike else (kind, region.expected, region.found)
        known = found.get(key)
        found[key] = (
            Explanation(kind, region.offset, region.expected, region.found)
            if known is None
            else replace(known, more=known.more + 1)
        )
    return list(found.values())


def _bare(text: str) -> str:
    return _SPACE.sub("", text)
