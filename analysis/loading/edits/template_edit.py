"""A stretch of a template's text, and what takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["TemplateEdit", "edited", "in_newlines"]


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


def in_newlines(text: str) -> str:
    """Return a text with each line ended by one newline, as places of a template are counted."""
    return re.sub("\r\n?", "\n", text)
