"""Random edits of a text: what models do to markers, and worse."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Edit: TypeAlias = Callable[[random.Random, str, Sequence[str]], str]

_SPACES = ("", " ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u2003", "\ufeff", "  ")
_RUN = re.compile(r"\s+")
LONGEST = 12
"""How many characters one edit takes at most."""
_SCRAPS = (
    "<",
    "</",
    ">",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "\\",
    ",",
    ":",
    "\n",
    " ",
    "\u00e9",
    "\x00",
    "\u00a0",
    "\ufeff",
    "\r\n",
)


def delete(rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    start, end = _stretch(rng, text)
    return text[:start] + text[end:]


def double(rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    start, end = _stretch(rng, text)
    return text[:end] + text[start:]


def swap(rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    """Let two neighboring stretches change places."""
    start, middle = _stretch(rng, text)
    end = min(len(text), middle + rng.randint(1, LONGEST))
    return text[:start] + text[middle:end] + text[start:middle] + text[end:]


def truncate(rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    return text[: rng.randint(0, len(text))]


def insert(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    """Insert a marker, a part of one, or a character that means something."""
    piece = rng.choice(pieces or _SCRAPS) if rng.random() < 0.7 else rng.choice(_SCRAPS)
    if rng.random() < 0.5:
        start, end = _stretch(rng, piece)
        piece = piece[start:end]
    at = rng.randint(0, len(text))
    return text[:at] + piece + text[at:]


def drop_marker(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    start, end = _piece(rng, text, pieces)
    return text[:start] + text[end:]


def double_marker(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    start, end = _piece(rng, text, pieces)
    return text[:end] + text[start:]


def respace(rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    """Let other whitespace stand where some does, or where none does."""
    runs = list(_RUN.finditer(text))
    at = rng.randint(0, len(text))
    start, end = rng.choice(runs).span() if runs and rng.random() < 0.8 else (at, at)
    return text[:start] + rng.choice(_SPACES) + text[end:]


def break_lines(_rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    """End every line as another system does."""
    return text.replace("\n", "\r\n")


def mark_order(_rng: random.Random, text: str, _pieces: Sequence[str]) -> str:
    """Begin with the mark that tells the order of bytes."""
    return f"\ufeff{text}"


EDITS: tuple[Edit, ...] = (
    *(delete, double, swap, truncate, insert, insert),
    *(drop_marker, drop_marker, double_marker, respace, respace, break_lines, mark_order),
)


def edited(rng: random.Random, text: str, pieces: Sequence[str], count: int) -> str:
    """Make so many edits."""
    for _ in range(count):
        text = rng.choice(EDITS)(rng, text, pieces)
    return text


def cut(rng: random.Random, text: str) -> list[str]:
    """Cut a text into the pieces of a stream: single characters, small pieces, or large ones."""
    longest = rng.choice((1, 3, 9, 40))
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = rng.randint(1, longest)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _piece(rng: random.Random, text: str, pieces: Sequence[str]) -> tuple[int, int]:
    """Choose a marker that stands in a text; any stretch of it where none does."""
    found = [(text.index(piece), piece) for piece in pieces if piece in text]
    if not found:
        return _stretch(rng, text)
    start, piece = rng.choice(found)
    places = [start]
    while (start := text.find(piece, start + 1)) >= 0:
        places.append(start)
    start = rng.choice(places)
    return start, start + len(piece)


def _stretch(rng: random.Random, text: str) -> tuple[int, int]:
    start = rng.randint(0, len(text))
    return start, min(len(text), start + rng.randint(1, LONGEST))
