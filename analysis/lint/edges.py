"""Whitespace at the edges of a text, and what of it a render has lost."""

from __future__ import annotations

LEAD, TRAIL = "\n\n\n \t", "\t \n\n\n"
"""No template writes these by itself around a text; line breaks stand outermost, since some
templates strip nothing else."""


def padded(word: str) -> str:
    """Return a word with whitespace at both edges."""
    return f"{LEAD}{word}{TRAIL}"


def lost_edges(text: str, word: str) -> str:
    """Say which edge of the padded word is not in the text; empty for none.

    A text without the word has lost more than edges: for that the answer is empty, too.
    """
    if word not in text:
        return ""
    begins = f"{LEAD}{word}" in text
    ends = f"{word}{TRAIL}" in text
    if begins and ends:
        return ""
    if begins:
        return "end"
    return "beginning" if ends else "beginning and end"
