"""Lines of a report: headings, prose, and rows of a label and a text, broken at a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len
from rich.text import Text

__all__ = [
    "Lines",
    "Row",
    "blank",
    "heading",
    "joined",
    "prose",
    "report_text",
    "rows",
    "sentence",
    "wrapped",
]

Lines: TypeAlias = list[Text]
Row: TypeAlias = tuple[str, Text]
"""A label and its text."""

HEADING_STYLE = "bold"
LABEL_STYLE = "dim"
NARROWEST = 20
_GAP = 2


def blank() -> Lines:
    """Return one empty line."""
    return [Text()]


def heading(title: str, width: int) -> Lines:
    """Return a heading, with an empty line before it."""
    return [Text(), *wrapped(Text(title, style=HEADING_STYLE), width, words=True)]


def sentence(*pieces: str | Text | tuple[str, str]) -> Text:
    """Put words, texts, and words with a style together."""
    return Text.assemble(*pieces)


def joined(texts: Sequence[Text], separator: str) -> Text:
    """Put texts together with a separator between them."""
    return Text(separator).join(texts)


def report_text(lines: Iterable[Text]) -> Text:
    """Put lines together, none of which then ends in spaces."""
    drawn = list(lines)
    for line in drawn:
        line.rstrip()
    return Text("\n").join(drawn)


def prose(text: str | Text, width: int, indent: int = 2, *, hang: int = 0) -> Lines:
    """Break a sentence at words; lines after the first are indented by ``hang`` more."""
    content = Text(text) if isinstance(text, str) else text
    broken = wrapped(content, max(width - indent - hang, NARROWEST), words=True)
    return [sentence(" " * (indent + hang * bool(at)), line) for at, line in enumerate(broken)]


def rows(
    pairs: Sequence[Row], width: int, *, indent: int = 2, words: bool = True, label: int = 0
) -> Lines:
    """Set labels and their texts in two columns.

    ``words`` breaks the texts between words, else wherever a line is full; ``label`` is the
    least width of the labels' column.
    """
    widest = max((cell_len(name) for name, _ in pairs), default=0)
    column = min(max(widest, label), max(width // 3, 8))
    rest = max(width - indent - column - _GAP, NARROWEST // 2)
    found: Lines = []
    for name, text in pairs:
        left = wrapped(Text(name, style=LABEL_STYLE), column, words=True)
        right = wrapped(text, rest, words=words)
        for at in range(max(len(left), len(right))):
            line = Text(" " * indent)
            if at < len(left):
                line.append_text(left[at])
            if at < len(right) and right[at]:
                line.append(" " * (indent + column + _GAP - cell_len(line.plain)))
                line.append_text(right[at])
            found.append(line)
    return found


def wrapped(text: Text, width: int, *, words: bool) -> Lines:
    """Break one line into lines of at most ``width`` cells.

    Without ``words`` no character is lost: a line is left before a bracket or a space in its second
    half, so that a tag or a word is not cut in two, else where it is full.
    """
    cuts = _cuts(text.plain, width, words=words)
    pieces = list(text.divide(cuts)) if cuts else [text]
    for piece in pieces[:-1] if words else ():
        piece.rstrip()
    return pieces


_OPENERS = "<[{("
"""Brackets: a line is better broken before one than inside of what it opens."""


def _cuts(plain: str, width: int, *, words: bool) -> list[int]:
    cuts: list[int] = []
    start = cells = space = 0
    for at, character in enumerate(plain):
        size = cell_len(character)
        if cells + size > width and at > start and not (words and character == " "):
            full = at if words else _joint(plain, start, at)
            start = space if words and space > start else full
            cuts.append(start)
            cells = cell_len(plain[start:at])
        cells += size
        if character == " ":
            space = at + 1
    return cuts


def _joint(plain: str, start: int, end: int) -> int:
    """Return where a line that is full at ``end`` is left."""
    for kind in (_OPENERS, " "):
        for at in range(end, start + (end - start) // 2, -1):
            if plain[at] in kind and plain[at - 1] not in kind:
                return at
    return end
