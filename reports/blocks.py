"""Blocks: the elements of a report, independent of the painter.

A report is a list of blocks, in their order. Three painters show it: `terminal` breaks it into
lines of a width, `markdown` writes it for a comment, `pages` puts it into a page. What is added to
a list appears in all three. Words inside of a block are `rich.text.Text`: what they are, a marker,
a warning, something aside, is said by the names of styles below, which all painters read.

>>> Report = [heading("Stops"), facts([("after content", quoted("<|end|>"))])]

`compare_texts` cuts two texts into the pieces of a `ShownDifference`. For example,

    compare_texts("Hi <think>look</think> Rio", "Hi <think></think> Rio")

returns `Hi <think>` of both, `look` of the left one alone, and `</think> Rio` of both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from autoparser.analysis.core.text_alignment import prefix_length, suffix_length

MARKER, GOOD, BAD, DOUBT, ASIDE, STRONG = "cyan", "green", "red", "yellow", "dim", "bold"
"""Styles of words: a template's own text, a pass, a failure, a doubt, an aside, emphasis."""

Words: TypeAlias = str | Text
Row: TypeAlias = tuple[str, Text]
"""A label and its text."""


ALIKE_LINES = 4
"""Lines of shared text that are kept beside a difference."""
ALIKE_CHARACTERS = 320
"""Their characters, if the lines are long."""
DIFFERENT_CHARACTERS = 2400
"""Characters of a difference that are shown."""
COMPARED_CHARACTERS = 4000
"""The longest middles that are aligned by character: the time grows with their square."""


class Side(StrEnum):
    """The text to which a piece belongs; the value is the sign in the margin."""

    BOTH = " "
    LEFT = "-"
    RIGHT = "+"


LineOrigins: TypeAlias = Sequence[tuple[int, int | None]]
"""Offsets in a text at which another template line begins to write, each with that line, or None if
unknown."""


class DifferencePiece(Struct, frozen=True):
    """A run of characters of one text, or of both."""

    side: Side
    text: str


class Gap(Struct, frozen=True):
    """An empty line, in painters that have lines."""


class Heading(Struct, frozen=True):
    """A section heading."""

    title: Text
    anchor: str = ""
    """The anchor of a page's section, or empty within a section."""
    note: str = ""
    """A word on the section, shown beside its title in a page's contents."""
    short: str = ""
    """A shorter title for a page's contents, or empty to use the title."""
    lead: str = ""
    """An introduction on a page, for readers who have not read a command's help."""
    hint: str = ""
    """The options that show more, below the heading on a terminal."""
    folded: bool = False
    """Whether a page folds the section until a click, a key or a link opens it."""


class Paragraph(Struct, frozen=True):
    """Sentences."""

    words: Text
    indent: int = 2
    hang: int = 0
    """Additional indent of the lines after the first, in cells."""
    look: str = ""
    """Style on a page: lead, note, badges, bad."""


class Facts(Struct, frozen=True):
    """Labels, and a text for each."""

    rows: tuple[tuple[Words, Text], ...]
    indent: int = 2
    at_words: bool = True
    """Whether lines are broken between words; otherwise at the full width."""
    label: int = 0
    """The minimum width of the labels' column."""
    asides: tuple[str, ...] = ()
    """A page's remark beside each text; a terminal has no room for it."""
    sizes: tuple[int, ...] = ()
    """The numbers in the texts, which a page also draws as bars."""
    look: str = ""
    """Style on a page: small, said, rules."""


class Excerpt(Struct, frozen=True):
    """Verbatim lines of a text, such as a template's."""

    lines: tuple[Text, ...]
    indent: int = 0
    broken: bool = True
    """Whether a long line is broken; a line with a caret under it is not."""
    label: str = ""
    """A description for screen readers."""


class ShownDifference(Struct, frozen=True):
    """Two texts and their differences, character by character."""

    pieces: tuple[DifferencePiece, ...]
    indent: int = 2
    origins: tuple[LineOrigins, LineOrigins] | None = None
    """The origins of both texts: a run of only one text begins with the template line that wrote
    it."""
    label: str = ""
    """A description for screen readers."""


class DepartureSide(Struct, frozen=True):
    """One of two texts, from their departure on."""

    label: str
    """The mark before the line, e.g. `- 48`: the sign, and the template line that wrote it."""
    text: Text | None
    """The text, or None if `error` has the reason for its absence."""
    error: Text | None = None
    end: Text | None = None
    """A note shown if the text ends at the departure."""
    title: str = ""
    """The label in full words."""


class Departure(Struct, frozen=True):
    """Two texts from shortly before their departure, a line each."""

    before: str
    """The shared text before the departure."""
    sides: tuple[DepartureSide, ...]
    facts: tuple[Row, ...] = ()
    margin: int = 10
    """Cells of a line that are taken by the label and the margins."""
    by_cells: bool = False
    """Whether the texts are cut by terminal cells instead of characters."""
    places: tuple[str, ...] = ()
    """All places with this departure, which a page folds."""


class ValueChange(Struct, frozen=True):
    """A value that changed, before and after."""

    name: Text
    left: Text
    right: Text


class ValueChanges(Struct, frozen=True):
    """Values before and after."""

    title: str
    changes: tuple[ValueChange, ...]


class TableColumn(Struct, frozen=True):
    """A column of a table, and its layout on a terminal."""

    head: str
    cells: int = 0
    """Its width; 0 fits its texts, and in the last column the rest of the line."""
    right: bool = False
    """Whether its texts are aligned to the right."""
    gap: int = 2
    """Cells between this column and the next."""
    cut: bool = False
    """Whether a long text is cut; otherwise it is continued in the next line."""
    at_words: bool = True
    """Whether lines are broken between words; otherwise at the full width."""
    title: str = ""
    """The full heading, for which a terminal has no room."""
    bar_of: int = 0
    """The value of a full bar, which a page draws beside each number, or 0 for no bars."""


class Table(Struct, frozen=True):
    """Rows of cells; the first cell is the row's name."""

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Text, ...], ...]
    indent: int = 0
    head: str = ASIDE
    """Style of the column headings."""
    caption: str = ""
    asides: tuple[str, ...] = ()
    """A page's remark below the name of each row."""
    look: str = ""
    """Classes on a page that set the widths of its columns."""
    grouped: bool = False
    """Whether a name that several rows share is shown only in the first of them."""
    most: int = 0
    """Rows that a terminal shows before it counts the rest, or 0 for all."""

    def repeats(self, at: int) -> bool:
        """Return whether a row's name is omitted because the row before has the same."""
        return self.grouped and at > 0 and self.rows[at][0].plain == self.rows[at - 1][0].plain


class Fitted(Struct, frozen=True):
    """Alternative blocks, chosen by the available width."""

    choose: Callable[[int], Blocks]


class Fold(Struct, frozen=True):
    """Blocks that a page hides until they are opened."""

    summary: Text
    blocks: Blocks
    opened: bool = False
    printed: bool = True
    """Whether they are printed on paper even if closed."""
    anchor: str = ""


class Entry(Struct, frozen=True):
    """A line that can be unfolded."""

    title: str
    text: Text
    """The result, in a few words."""
    label: str = ""
    """A short name before the title, such as a phase's."""
    mark: Text | None = None
    """A badge that a page shows before the title."""
    blocks: Blocks = field(default_factory=list["Block"])
    """The details that unfold."""
    opened: bool = False
    anchor: str = ""

    @property
    def name(self) -> str:
        """Return the title with its label."""
        return f"{self.label} {self.title}".strip()


class Entries(Struct, frozen=True):
    """Lines that a page and a comment can unfold.

    A terminal shows the lines, and below them the opened ones in full.
    """

    entries: tuple[Entry, ...]
    kind: str = ""
    """The noun for one entry, which a terminal shows above the full entry: ``Phase``."""


class TextSide(Struct, frozen=True):
    """One of two compared texts, or a text alone."""

    title: str
    note: str = ""
    """A remark beside the title."""
    above: Blocks = field(default_factory=list["Block"])
    """The origin of the text, such as a conversation."""
    error: Text | None = None
    """The reason for an absent text."""
    below: Blocks = field(default_factory=list["Block"])
    label: str = ""
    """A description for screen readers."""


class ComparedTexts(Struct, frozen=True):
    """One text, or two: a page puts them side by side, a terminal shows their differences."""

    sides: tuple[TextSide, ...]
    pieces: tuple[DifferencePiece, ...]
    caption: str = ""

    @property
    def same(self) -> bool:
        """Return whether there are two equal texts."""
        alike = bool(self.pieces) and all(piece.side is Side.BOTH for piece in self.pieces)
        return alike and len(self.sides) > 1 and not any(side.error for side in self.sides)

    def side_text(self, at: int) -> ShownDifference:
        """Return one of the texts with its own pieces marked."""
        kept = (Side.BOTH, (Side.LEFT, Side.RIGHT)[at])
        pieces = tuple(piece for piece in self.pieces if piece.side in kept)
        return ShownDifference(pieces, label=self.sides[at].label)


SAME_TEXT = "both have the same text"


class Picture(Struct, frozen=True):
    """A drawing on a page, such as a plot, and the blocks that other painters show instead."""

    name: str
    """The name of a macro in ``page_templates/pictures.jinja``."""
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
    """Return words as a text; text of a template has already passed `visible`."""
    return Text(words) if isinstance(words, str) else words


def blank() -> Blocks:
    """Return an empty line."""
    return [Gap()]


def heading(title: Words) -> Blocks:
    """Return a heading."""
    return [Heading(as_text(title))]


def lead(words: Words) -> Blocks:
    """Return a section's introduction: its subject and how to read it."""
    return [Paragraph(as_text(words), look="lead")]


def entry_blocks(entry: Entry, kind: str = "") -> Blocks:
    """Return an entry in full, with its name as the heading."""
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
    """Return a table with rows of cells below headings, or nothing if there are no rows."""
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
    """Return labels and their texts as `Facts`, or nothing if there are none."""
    listed = tuple(pairs)
    return [Facts(listed, indent, words, label)] if listed else []


def excerpt(lines: Iterable[Text], indent: int = 0, *, broken: bool = True) -> Blocks:
    """Return verbatim lines of a text as an `Excerpt`."""
    return [Excerpt(tuple(lines), indent, broken)]


def sentence(*pieces: str | Text | tuple[str, str | Style]) -> Text:
    """Join words, texts, and words with a style."""
    return Text.assemble(*pieces)


def joined(texts: Sequence[Text], separator: str) -> Text:
    """Join texts with a separator."""
    return Text(separator).join(texts)


def difference(
    pieces: Iterable[DifferencePiece],
    indent: int = 2,
    origins: tuple[LineOrigins, LineOrigins] | None = None,
) -> Blocks:
    """Return two texts and their differences as a `ShownDifference`."""
    return [ShownDifference(tuple(pieces), indent, origins)]


def tagged(words: str, tag: str, **attributes: str) -> Text:
    """Return words that a page puts into an element; other painters ignore the element."""
    return Text(words, Style(meta={"tag": tag, **attributes}))


def badge(words: str, kind: str) -> Text:
    """Return a verdict as a badge; `kind` is good, bad, doubt or plain."""
    return tagged(words, "span", **{"class": f"badge {kind}"})


def code(words: str) -> Text:
    """Return a name that can be typed."""
    return tagged(words, "code")


def link(words: str, address: str) -> Text:
    """Return words that link to a place in the page, or to a page beside it."""
    return tagged(words, "a", href=address)


def small(words: str) -> Text:
    """Return words in small print."""
    return tagged(words, "small")


class StyledRun(Struct, frozen=True):
    """A run of words with the same style."""

    words: str
    styles: tuple[str, ...]
    tags: tuple[Mapping[str, str], ...]
    """Elements of a page around the run, outermost first, each with its attributes."""


def styled_runs(text: Text) -> Iterator[StyledRun]:
    """Cut a text into runs of one style.

    Backquotes mark markers on a terminal; other painters have a style for these, so the backquotes
    are removed.
    """
    runs = list(_runs(text))
    # A sentinel at each end, so that the first and the last run have neighbors, too.
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
        # Rich writes a style without attributes as `none`.
        names = [name for style in styles for name in str(style).split() if name != "none"]
        tags = [style.meta for style in styles if isinstance(style, Style) and "tag" in style.meta]
        yield StyledRun(plain[start:end], tuple(dict.fromkeys(names)), tuple(tags))


def compare_texts(left: str, right: str) -> list[DifferencePiece]:
    """Cut two texts into shared pieces and pieces of only one text."""
    start = prefix_length(left, right)
    # Only after the prefix, so that no character of `aa` and `aaa` is counted twice.
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
    # By default, `difflib` ignores the frequent characters of a long text, such as spaces.
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
    """Return the template line that wrote a character, or an empty text if it is unknown."""
    number = bisect_right(origins, at, key=lambda origin: origin[0]) - 1
    line = origins[number][1] if number >= 0 else None
    return "" if line is None else str(line)
