"""A stretch of a template's text, and what takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

__all__ = ["TemplateEdit", "changed_lines", "edited", "in_newlines"]


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
