r"""What content and reasoning lose of their whitespace, told by what stands beside them elsewhere.

A text with whitespace at its edges that is written without some of it can be cut from the markup
in more than one way. The literal that other examples have there decides:

    '<r>\nHm.\n</r>' for the reasoning '\nHm.\n\n', and '<r>\n' in other turns: it is '\nHm.' that
    loses its line breaks, and not the markup
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from autoparser.analysis.core.alignment import prefix_length, suffix_length
from autoparser.analysis.core.format import Part, Slot, Strip

from .alignment import AlignedExample, Mark

__all__ = ["with_usual_edges"]


def with_usual_edges(aligned: Sequence[AlignedExample]) -> list[AlignedExample]:
    """Cut texts with whitespace at their edges where others leave the usual literals."""
    usual: dict[tuple[str, str], Counter[str]] = {}
    for each in aligned:
        for at in range(len(each.marks) + 1):
            if not _open_to_doubt(each, at):
                usual.setdefault(_neighbours(each, at), Counter())[each.between(at)] += 1
    return [_cut_again(each, usual) for each in aligned]


def _text(example: AlignedExample, mark: Mark) -> str:
    if mark.what is Part.REASONING:
        return example.message.reasoning
    return example.message.content if mark.what is Part.CONTENT else ""


def _around(example: AlignedExample, at: int) -> tuple[Mark | None, Mark | None]:
    """Return the marks on both sides of a literal."""
    after = example.marks[at] if at < len(example.marks) else None
    return example.marks[at - 1] if at else None, after


def _neighbours(example: AlignedExample, at: int) -> tuple[str, str]:
    before, after = _around(example, at)
    return _name(before), _name(after)


def _name(mark: Mark | None) -> str:
    if mark is None:
        return ""
    return Part.CALLS if isinstance(mark.what, Slot) else mark.what


def _open_to_doubt(example: AlignedExample, at: int) -> bool:
    before, after = _around(example, at)
    left = _text(example, before) if before is not None else ""
    right = _text(example, after) if after is not None else ""
    return left != left.rstrip() or right != right.lstrip()


def _cut_again(
    example: AlignedExample, usual: Mapping[tuple[str, str], Counter[str]]
) -> AlignedExample:
    for at in range(len(example.marks) + 1):
        if not _open_to_doubt(example, at):
            continue
        known = _UsualLiterals(usual, _neighbours(example, at))
        tried = list(_cuts(example, at))
        if tried:
            example = max(tried, key=lambda each: known.likely(each.between(at)))
    return example


class _UsualLiterals:
    """The literals that other examples have between two neighbours, or beside one of them."""

    def __init__(
        self, usual: Mapping[tuple[str, str], Counter[str]], neighbours: tuple[str, str]
    ) -> None:
        before, after = neighbours
        self._same = usual.get(neighbours, Counter[str]())
        self._closing = [text for (one, _), seen in usual.items() if one == before for text in seen]
        self._opening = [text for (_, two), seen in usual.items() if two == after for text in seen]

    def likely(self, literal: str) -> tuple[int, int]:
        """Say how often the literal was seen, and how much of it beside one neighbour."""
        closing = max((prefix_length(literal, each) for each in self._closing), default=0)
        opening = max((suffix_length(literal, each) for each in self._opening), default=0)
        return self._same[literal], closing + opening


def _cuts(example: AlignedExample, at: int) -> Iterator[AlignedExample]:
    """Go through the ways to cut off the literal number `at`, as it is cut now first."""
    before, after = _around(example, at)
    yield example
    for right, left in product(_ends(example, before), _begins(example, after)):
        marks = list(example.marks)
        if before is not None and right is not None:
            marks[at - 1] = replace(
                before, end=right[0], edges=replace(before.edges, right=right[1])
            )
        if after is not None and left is not None:
            marks[at] = replace(after, start=left[0], edges=replace(after.edges, left=left[1]))
        if at == 0 or at == len(marks) or marks[at - 1].end <= marks[at].start:
            yield replace(example, marks=tuple(marks))


def _ends(example: AlignedExample, mark: Mark | None) -> Iterator[tuple[int, Strip] | None]:
    """Go through the places where a text may end, and what it has lost there."""
    if mark is None or not isinstance(mark.what, Part):
        yield None
        return
    text = _text(example, mark)
    core = mark.start + len(example.text[mark.start : mark.end].rstrip())
    for strip in Strip:
        kept = strip.right(text)[len(text.rstrip()) :]
        if example.text.startswith(kept, core):
            yield core + len(kept), strip


def _begins(example: AlignedExample, mark: Mark | None) -> Iterator[tuple[int, Strip] | None]:
    if mark is None or not isinstance(mark.what, Part):
        yield None
        return
    text = _text(example, mark)
    written = example.text[mark.start : mark.end]
    core = mark.start + len(written) - len(written.lstrip())
    for strip in Strip:
        kept = strip.left(text)
        kept = kept[: len(kept) - len(kept.lstrip())]
        if example.text.endswith(kept, 0, core):
            yield core - len(kept), strip
