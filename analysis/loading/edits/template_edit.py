"""A stretch of a template's text, and what takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

__all__ = ["TemplateEdit", "changed_lines", "edited", "in_newlines", "spans_after"]


class TemplateEdit(NamedTuple):
    """A stretch of a template's text, and what takes its place."""

    start: int
    end: int
    text: str

    @property
    def size(self) -> int:
        """Characters that are taken away or written."""
        return self.end - self.start + len(self.text)

    def overlaps(self, other: TemplateEdit) -> bool:
        """Say whether both change the same text."""
        return self.start < other.end and other.start < self.end


def edited(text: str, edits: Iterable[TemplateEdit]) -> str:
    """Return a text with edits made, none of which overlaps another."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def spans_after(
    edits: Iterable[TemplateEdit], spans: Iterable[tuple[int, int]] = ()
) -> tuple[tuple[int, int], ...]:
    """Return where in the edited text the edits stand, and what stood at these places before."""
    made = sorted(edits)

    def moved(at: int, *, last: bool) -> int:
        before = [each for each in made if each.end < at or (last and each.end == at)]
        inside = next((each for each in made if each.start < at < each.end), None)
        if inside is not None:
            at = inside.end if last else inside.start
            before = [*before, inside] if last else before
        return at + sum(len(each.text) - (each.end - each.start) for each in before)

    places = [(moved(start, last=False), moved(end, last=True)) for start, end in spans]
    for number, each in enumerate(made):
        start = each.start + sum(len(it.text) - (it.end - it.start) for it in made[:number])
        places.append((start, start + len(each.text)))
    return tuple(places)


def changed_lines(text: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits, each of whole lines, that make one text the other."""
    old, new = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at = [0, *accumulate(map(len, old))]
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        TemplateEdit(at[start], at[end], "".join(new[begin:stop]))
        for what, start, end, begin, stop in found
        if what != "equal"
    )


def in_newlines(text: str) -> str:
    """Return a text with each line ended by one newline, as places of a template are counted."""
    return re.sub("\r\n?", "\n", text)
