"""Which characters a person sees as what they are, and escapes for all others.

A terminal obeys control characters, marks of direction turn what is beside them, and some
characters that count as printable show nothing at all. Unicode 16, DerivedCoreProperties.txt,
has those as Default_Ignorable_Code_Point; the empty Braille pattern is drawn as a space.
"""

from __future__ import annotations

import re

__all__ = ["escaped", "is_inert"]

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Printable by Python's account, as letters, marks and symbols are."""


def is_inert(text: str) -> bool:
    """Whether every character of the text shows itself, and does nothing else."""
    return text.isprintable() and (text.isascii() or _INVISIBLE.search(text) is None)


def escaped(text: str) -> str:
    """Return the text with a Python escape for each character that is not inert."""
    if is_inert(text):
        return text
    return "".join(
        character if is_inert(character) else character.encode("unicode_escape").decode()
        for character in text
    )
