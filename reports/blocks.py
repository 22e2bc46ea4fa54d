"""Blocks: what a report is made of, whoever paints it.

A report is a list of blocks, in their order. Three painters show it: `terminal` breaks it into
lines of a width, `markdown` writes it for a comment, `pages` puts it into a page. What is added to
a list appears in all three. Words inside of a block are `rich.text.Text`: what they are, a marker,
a warning, something aside, is said by the names of styles below, which all painters read.

>>> Report = [heading("Stops"), facts([("after content", quoted("<|end|>"))])]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from rich.style import Style
from rich.text import Text

from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

MARKER, GOOD, BAD, DOUBT, ASIDE, STRONG = "cyan", "green", "red", "yellow", "dim", "bold"
"""What words are: a template's own, a pass, a failure, what is not sure, less or more weighty."""

Words: TypeAlias = str | Text
Row: TypeAlias = tuple[str, Text]
"""A label and its text."""


ALIKE_LINES = 4
ALIKE_CHARACTERS = 320
DIFFERENT_CHARACTERS = 2400
COMPARED_CHARACTERS = 4000
"""Longer middles are not aligned character by character, which takes time by their square."""


class Side(StrEnum):
    """Which of two texts a piece is of; the value is the sign in the margin."""

    BOTH = " "
    LEFT = "-"
    RIGHT = "+"


LineOrigins: TypeAlias = Sequence[tuple[int, int | None]]
"""Where in a text another line of the template begins to write, and which; None: not known."""


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    """A run of characters of one text, or of both."""

    side: Side
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """An empty line, where a painter has lines."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What the blocks after it are about."""

    title: Text
    anchor: str = ""
    """The section of a page that begins here; empty within a section."""
    note: str = ""
    """A word on the section, beside its title in the contents of a page."""
    short: str = ""
    """The title in the contents of a page, where that is not the same."""
    lead: str = ""
    """What a page says below it, for readers who do not come from a command's help."""
    hint: str = ""
    """What a terminal says below it: which options show more."""
    folded: bool = False
    """Whether a page shows the section only to a click, a key or a link."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    words: Text
    indent: int = 2
    hang: int = 0
    """By how much more lines after the first are indented."""
    look: str = ""
    """On a page: lead, note, badges, bad."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels, and a text for each."""

    rows: tuple[tuple[Words, Text], ...]
    indent: int = 2
    at_words: bool = True
    """Whether lines are broken between words, else wherever one is full."""
    label: int = 0
    """The least width of the labels' column."""
    asides: tuple[str, ...] = ()
    """What a page says beside each text, where a terminal has no room for it."""
    sizes: tuple[int, ...] = ()
    """The numbers in the texts, which a page draws as bars, too."""
    look: str = ""
    """On a page: small, said, rules."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text as they are, such as those of a template."""

    lines: tuple[Text, ...]
    indent: int = 0
    broken: bool = True
    """Whether a long line is broken; one with a caret under it is not."""
    label: str = ""
    """What it is, for who cannot see it."""


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """Two texts and where they differ, character by character."""

    pieces: tuple[DifferencePiece, ...]
    indent: int = 2
    origins: tuple[LineOrigins, LineOrigins] | None = None
    """Of the two texts: what one has alone begins with the template's line that wrote it."""
    label: str = ""
    """What it is, for who cannot see it."""


@dataclass(frozen=True, slots=True)
class DepartureSide:
    """One of two texts from where they part on."""

    label: str
    text: Text | None
    """None: there is no text, and `error` says why."""
    error: Text | None = None
    end: Text | None = None
    """What is said where the text has ended already."""
    title: str = ""
    """The label in words."""


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
    places: tuple[str, ...] = ()
    """All places where they part so, which a page folds."""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """Something that had one value and has another."""

    name: Text
    left: Text
    right: Text


@dataclass(frozen=True, slots=True)
class ValueChanges:
    """Values before and after."""

    title: str
    changes: tuple[ValueChange, ...]


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
    at_words: bool = True
    """Whether lines are broken between words, else wherever one is full."""
    title: str = ""
    """The head in full, for which a terminal has no room."""
    bar_of: int = 0
    """What a full bar stands for, which a page draws beside each number; 0: it draws none."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first cell names its row."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Text, ...], ...]
    indent: int = 0
    head: str = ASIDE
    """How the heads of the columns look."""
    caption: str = ""
    asides: tuple[str, ...] = ()
    """What a page says below the name of each row."""
    look: str = ""
    """On a page: classes that say how wide its columns are."""
    grouped: bool = False
    """Whether a name that several rows have is shown in the first of them alone."""
    most: int = 0
    """How many rows a terminal shows, where it counts the others; 0: all."""

    def repeats(self, at: int) -> bool:
        """Whether a row's name is to be left out."""
        return self.grouped and at > 0 and self.rows[at][0].plain == self.rows[at - 1][0].plain


@dataclass(frozen=True, slots=True)
class Fitted:
    """Blocks that are chosen by the width that there is for them."""

    choose: Callable[[int], Blocks]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that a page shows only once somebody opens them."""

    summary: Text
    blocks: Blocks
    opened: bool = False
    printed: bool = True
    """Whether they are on paper all the same."""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that has more behind it."""

    title: str
    text: Text
    """What it comes to."""
    label: str = ""
    """A short name before the title, such as that of a phase."""
    mark: Text | None = None
    """A badge that a page shows before it."""
    blocks: Blocks = field(default_factory=list["Block"])
    """What is behind it."""
    opened: bool = False
    anchor: str = ""

    @property
    def name(self) -> str:
        """The title with its label."""
        return f"{self.label} {self.title}".strip()


@dataclass(frozen=True, slots=True)
class Entries:
    """Lines that each have more behind them, which a page and a comment unfold.

    A terminal shows the lines, and below them in full those that are opened.
    """

    entries: tuple[Entry, ...]
    kind: str = ""
    """What each is, which a terminal says above one in full: ``Phase``."""


@dataclass(frozen=True, slots=True)
class TextSide:
    """One of two texts that are compared, or a text alone."""

    title: str
    note: str = ""
    """Said aside."""
    above: Blocks = field(default_factory=list["Block"])
    """What it comes from, such as a conversation."""
    error: Text | None = None
    """Why there is no text."""
    below: Blocks = field(default_factory=list["Block"])
    label: str = ""
    """What it is, for who cannot see it."""


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Two texts, or one: a page puts them beside each other, a terminal shows where they differ."""

    sides: tuple[TextSide, ...]
    pieces: tuple[DifferencePiece, ...]
    caption: str = ""

    @property
    def same(self) -> bool:
        """Whether there are two, and they are the same."""
        alike = bool(self.pieces) and all(piece.side is Side.BOTH for piece in self.pieces)
        return alike and len(self.sides) > 1 and not any(side.error for side in self.sides)

    def side_text(self, at: int) -> ShownDifference:
        """Return one of the texts: what it has alone between what both have."""
        kept = (Side.BOTH, (Side.LEFT, Side.RIGHT)[at])
        pieces = tuple(piece for piece in self.pieces if piece.side in kept)
        return ShownDifference(pieces, label=self.sides[at].label)


SAME_TEXT = "both have the same text"


@dataclass(frozen=True, slots=True)
class Picture:
    """What a page draws, such as a plot, and what other painters show in its place."""

    name: str
    """Of a macro in ``page_templates/pictures.jinja``."""
    data: object
    instead: Blocks


Block: TypeAlias = (
    Gap
    | Heading
    | Paragraph
    | Facts
    | Excerpt
    | ShownDifference
    | Departure
    | ValueChanges
    | Table
    | Fold
    | Entries
    | ComparedTexts
    | Picture
    | Fitted
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


def lead(words: Words) -> Blocks:
    """Return what a section begins with: of what it tells, and how to read that."""
    return [Paragraph(as_text(words), look="lead")]


def entry_blocks(entry: Entry, kind: str = "") -> Blocks:
    """Return an entry in full, below its name."""
    return [*heading(f"{kind} {entry.name}".strip()), *prose(entry.text), *entry.blocks]


def table(
    caption: str,
    heads: Iterable[str | TableColumn],
    cells: Iterable[Sequence[Words]],
    look: str = "",
    *,
    grouped: bool = False,
    most: int = 0,
) -> Blocks:
    """Return rows of cells below heads, see `Table`; nothing without any row."""
    columns = tuple(TableColumn(head) if isinstance(head, str) else head for head in heads)
    listed = tuple(tuple(map(as_text, row)) for row in cells)
    shown = Table(columns, listed, 2, caption=caption, look=look, grouped=grouped, most=most)
    return [shown] if listed else []


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
    """Return two texts and where they differ; see `ShownDifference`."""
    return [ShownDifference(tuple(pieces), indent, origins)]


def tagged(words: str, tag: str, **attributes: str) -> Text:
    """Return words that a page puts into an element; other painters show them as they are."""
    return Text(words, Style(meta={"tag": tag, **attributes}))


def badge(words: str, kind: str) -> Text:
    """Return a verdict in a word; `kind` is good, bad, doubt or plain."""
    return tagged(words, "span", **{"class": f"badge {kind}"})


def code(words: str) -> Text:
    """Return a name that somebody types."""
    return tagged(words, "code")


def link(words: str, address: str) -> Text:
    """Return words that lead to a place in the page, or to a page beside it."""
    return tagged(words, "a", href=address)


def small(words: str) -> Text:
    """Return what is said aside."""
    return tagged(words, "small")


@dataclass(frozen=True, slots=True)
class StyledRun:
    """A stretch of words that look alike."""

    words: str
    styles: tuple[str, ...]
    tags: tuple[Mapping[str, str], ...]
    """Elements of a page around it, the outermost first, each with its attributes."""


def styled_runs(text: Text) -> Iterator[StyledRun]:
    """Cut a text where its looks change.

    Backquotes tell markers apart on a terminal; elsewhere their own look does, so they are left
    out.
    """
    runs = list(_runs(text))
    marked = [False, *(MARKER in run.styles for run in runs), False]
    for at, run in enumerate(runs, 1):
        words = run.words
        if not marked[at]:
            words = words.removesuffix("`") if marked[at + 1] else words
            words = words.removeprefix("`") if marked[at - 1] else words
        if words:
            yield replace(run, words=words)


def _runs(text: Text) -> Iterator[StyledRun]:
    plain = text.plain
    cuts = sorted({0, len(plain), *(edge for span in text.spans for edge in span[:2])})
    for start, end in pairwise(cuts):
        styles = [text.style]
        styles += [span.style for span in text.spans if span.start <= start < span.end]
        names = [name for style in styles for name in str(style).split() if name != "none"]
        tags = [style.meta for style in styles if isinstance(style, Style) and "tag" in style.meta]
        yield StyledRun(plain[start:end], tuple(dict.fromkeys(names)), tuple(tags))


def compare_texts(left: str, right: str) -> list[DifferencePiece]:
    """Cut two texts into what both have and what each has alone."""
    start = prefix_length(left, right)
    end = suffix_length(left[start:], right[start:])
    middle_left, middle_right = left[start : len(left) - end], right[start : len(right) - end]
    pieces = [DifferencePiece(Side.BOTH, left[:start])]
    if max(len(middle_left), len(middle_right)) > COMPARED_CHARACTERS:
        pieces += [
            DifferencePiece(Side.LEFT, middle_left),
            DifferencePiece(Side.RIGHT, middle_right),
        ]
    else:
        pieces += _aligned(middle_left, middle_right)
    pieces.append(DifferencePiece(Side.BOTH, left[len(left) - end :]))
    return [piece for piece in pieces if piece.text]


SHORTEST_MATCH = 4
"""Fewer equal characters between two differences are a coincidence."""


def _aligned(left: str, right: str) -> Iterator[DifferencePiece]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    at_left = at_right = 0
    for match in matcher.get_matching_blocks():
        if match.size and match.size < SHORTEST_MATCH:
            continue
        yield DifferencePiece(Side.LEFT, left[at_left : match.a])
        yield DifferencePiece(Side.RIGHT, right[at_right : match.b])
        yield DifferencePiece(Side.BOTH, left[match.a : match.a + match.size])
        at_left, at_right = match.a + match.size, match.b + match.size


def line_at(origins: LineOrigins, at: int) -> str:
    """Return the template's line that wrote a character; the empty text where it is not known."""
    number = bisect_right(origins, at, key=lambda each: each[0]) - 1
    line = origins[number][1] if number >= 0 else None
    return "" if line is None else str(line)
