"""Blocks: what a report is made of, whoever paints it.

A report is a list of blocks, in their order. Three painters show it: `terminal` breaks it into
lines of a width, `markdown` writes it for a comment, `pages` puts it into a page. What is added to
a list appears in all three. Words inside of a block are `rich.text.Text`: what they are, a marker,
a warning, something aside, is said by the names of styles below, which all painters read.

>>> Report = [heading("Stops"), facts([("after content", quoted("<|end|>"))])]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.style import Style
from rich.text import Text

from .difference import DifferencePiece, LineOrigins

MARKER, GOOD, BAD, DOUBT, ASIDE, STRONG = "cyan", "green", "red", "yellow", "dim", "bold"
"""What words are: a template's own, a pass, a failure, what is not sure, less or more weighty."""

Words: TypeAlias = str | Text
Row: TypeAlias = tuple[str, Text]
"""A label and its text."""


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line, where a painter has lines."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the blocks after it are about."""

    title: Text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    words: Text
    indent: int = 2
    hang: int = 0
    """By how much more lines after the first are indented."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels, and a text for each."""

    rows: tuple[tuple[Words, Text], ...]
    indent: int = 2
    at_words: bool = True
    """Whether lines are broken between words, else wherever one is full."""
    label: int = 0
    """The least width of the labels' column."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text as they are, such as those of a template."""

    lines: tuple[Text, ...]
    indent: int = 0
    broken: bool = True
    """Whether a long line is broken; one with a caret under it is not."""


@dataclass(frozen=True, slots=True)
class TextDifference:
    """Two texts and where they differ, character by character."""

    pieces: tuple[DifferencePiece, ...]
    indent: int = 2
    origins: tuple[LineOrigins, LineOrigins] | None = None
    """Of the two texts: what one has alone begins with the template's line that wrote it."""


@dataclass(frozen=True, slots=True)
class DepartureSide:
    """One of two texts from where they part on."""

    label: str
    text: Text | None
    """None: there is no text, and `error` says why."""
    error: Text | None = None
    end: Text | None = None
    """What is said where the text has ended already."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Two texts from a little before where they part, a line each."""

    before: str
    """What both have there."""
    sides: tuple[DepartureSide, ...]
    facts: tuple[Row, ...] = ()
    margin: int = 10
    """Cells of a line that are not the texts'."""
    by_cells: bool = False
    """Whether the texts are cut by what they take on a terminal, not by characters."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table, and how a terminal draws it."""

    head: str
    cells: int = 0
    """Its width; 0 is what its texts take, or in the last column what is left of the line."""
    right: bool = False
    """Whether its texts stand at its right edge."""
    gap: int = 2
    """Cells between it and the next."""
    cut: bool = False
    """Whether what is too long is cut, else it goes on in the next line."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first cell names its row."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Text, ...], ...]
    indent: int = 0
    head: str = ASIDE
    """How the heads of the columns look."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Blocks that are chosen by the width that there is for them."""

    choose: Callable[[int], Blocks]


Block: TypeAlias = (
    Gap | Heading | Paragraph | Facts | Excerpt | TextDifference | Departure | Table | Fitted
)
Blocks: TypeAlias = list[Block]


def as_text(words: Words) -> Text:
    """Return words as a text; what comes from a template has passed `visible` before."""
    return Text(words) if isinstance(words, str) else words


def blank() -> Blocks:
    """Return an empty line."""
    return [Gap()]


def heading(title: Words) -> Blocks:
    """Return a heading."""
    return [Heading(as_text(title))]


def prose(words: Words, indent: int = 2, *, hang: int = 0) -> Blocks:
    """Return a paragraph; lines after the first are indented by `hang` more."""
    return [Paragraph(as_text(words), indent, hang)]


def rows(
    pairs: Iterable[tuple[Words, Text]], *, indent: int = 2, words: bool = True, label: int = 0
) -> Blocks:
    """Return labels and their texts, see `Facts`; nothing without any."""
    listed = tuple(pairs)
    return [Facts(listed, indent, words, label)] if listed else []


def excerpt(lines: Iterable[Text], indent: int = 0, *, broken: bool = True) -> Blocks:
    """Return lines of a text as they are; see `Excerpt`."""
    return [Excerpt(tuple(lines), indent, broken)]


def sentence(*pieces: str | Text | tuple[str, str | Style]) -> Text:
    """Put words, texts, and words with a style together."""
    return Text.assemble(*pieces)


def joined(texts: Sequence[Text], separator: str) -> Text:
    """Put texts together with a separator between them."""
    return Text(separator).join(texts)


def difference(
    pieces: Iterable[DifferencePiece],
    indent: int = 2,
    origins: tuple[LineOrigins, LineOrigins] | None = None,
) -> Blocks:
    """Return two texts and where they differ; see `TextDifference`."""
    return [TextDifference(tuple(pieces), indent, origins)]
