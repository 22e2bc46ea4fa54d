"""Blocks: the elements of a report, independent of the painter.

A report is a list of blocks, in their order. Three painters show it: `terminal` breaks it into
lines of a width, `markdown` writes it for a comment, `pages` puts it into a page. What is added to
a list appears in all three. Words inside of a block are `rich.text.Text`: what they are, a marker,
a warning, something aside, is said by the names of styles below, which all painters read.

    >>> report = heading("Stops") + rows([("after content", code("<|end|>"))])
    >>> [type(block).__name__ for block in report]
    ['Heading', 'Facts']

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


# Structs, not data classes: each start of the program would take longer to make those.
class DifferencePiece(Struct, frozen=True):
    """A run of characters of one text, or of both."""

    side: Side
    """The text or texts that contain it, e.g. `Side.LEFT` for the first alone."""
    text: str
    """The characters, e.g. `"look"`."""


class Gap(Struct, frozen=True):
    """An empty line, in painters that have lines."""


class Heading(Struct, frozen=True):
    """A section heading."""

    title: Text
    """The words of the heading, e.g. `Text("Round trip")`."""
    anchor: str = ""
    """The anchor of a page's section, e.g. `"round-trip"`; empty within a section."""
    note: str = ""
    """A word on the section, e.g. `"42/56"`, shown beside its title in a page's contents."""
    short: str = ""
    """A shorter title for a page's contents, e.g. `"Renders"`; empty to use the title."""
    lead: str = ""
    """An introduction on a page, e.g. `"Templates are of one family if they write a call alike:
    …"`, for readers who have not read a command's help."""
    hint: str = ""
    """The options that show more, below the heading on a terminal, e.g. `"--diffs"` for phases."""
    folded: bool = False
    """Whether a page folds the section until it is opened, e.g. `True` for `"phases"`."""


class Paragraph(Struct, frozen=True):
    """Sentences."""

    words: Text
    """The sentences, e.g. `Text("No findings.")`."""
    indent: int = 2
    """Cells before each line, e.g. `0` for a report's first sentence."""
    hang: int = 0
    """Additional indent of the lines after the first, in cells, e.g. `2`."""
    look: str = ""
    """Style on a page: `lead`, `note`, `badges`, `bad`."""


class Facts(Struct, frozen=True):
    """Labels, and a text for each."""

    rows: tuple[tuple[Words, Text], ...]
    """The labels and texts, e.g. `(("after content", quoted("<|im_end|>")),)`."""
    indent: int = 2
    """Cells before each label, e.g. `4` below a paragraph."""
    at_words: bool = True
    """Whether lines are broken between words, e.g. `False` for texts of a template."""
    label: int = 0
    """The minimum width of the labels' column, e.g. `9`; several blocks with it are aligned."""
    asides: tuple[str, ...] = ()
    """A page's remark beside each text, e.g. `("line 18",)`; a terminal has no room for it."""
    sizes: tuple[int, ...] = ()
    """The numbers in the texts, e.g. `(12, 3)`, which a page also draws as bars."""
    look: str = ""
    """Style on a page: `small`, `said`, `rules`."""


class Excerpt(Struct, frozen=True):
    """Verbatim lines of a text, such as a template's."""

    lines: tuple[Text, ...]
    """The lines, e.g. `(Text("{{ b.c }}"), Text("   ^"))`."""
    indent: int = 0
    """Cells before each line, e.g. `4`."""
    broken: bool = True
    """Whether a long line is broken, e.g. `False` for one with a caret under it."""
    label: str = ""
    """A description for screen readers, e.g. `"The command for vLLM"`."""


class ShownDifference(Struct, frozen=True):
    """Two texts and their differences, character by character."""

    pieces: tuple[DifferencePiece, ...]
    """The texts, cut, e.g. `"Hi <think>"` of both, then `"look"` of the left one alone."""
    indent: int = 2
    """Cells before the signs, e.g. `6` below an example."""
    origins: tuple[LineOrigins, LineOrigins] | None = None
    """The origins of both texts, e.g. `([(0, 24)], [(0, 31)])`: a run of only one text begins with
    the template line that wrote it."""
    label: str = ""
    """A description for screen readers, e.g. `"The turn, nothing set"`."""


class DepartureSide(Struct, frozen=True):
    """One of two texts, from their departure on."""

    label: str
    """The mark before the line, e.g. `- 48`: the sign, and the template line that wrote it."""
    text: Text | None
    """The text, e.g. `Text("It is sunny.")`, or None if `error` has the reason for its absence."""
    error: Text | None = None
    """The reason, e.g. `Text("raises: roles must alternate")`, or None if there is a text."""
    end: Text | None = None
    """A note shown if the text ends at the departure, e.g. `Text("(the end)")`."""
    title: str = ""
    """The label in full words, e.g. `"before, written by line 48"`."""


class Departure(Struct, frozen=True):
    """Two texts from shortly before their departure, a line each."""

    before: str
    r"""The shared text before the departure, e.g. `"<|im_start|>assistant\n"`."""
    sides: tuple[DepartureSide, ...]
    """The texts, e.g. one labeled `"- line 39"`, and one labeled `"+ line 33"`."""
    margin: int = 10
    """Cells of a line that are taken by the label and the margins, e.g. `16`."""
    by_cells: bool = False
    """Whether the texts are cut by cells, not characters, e.g. `True` for round trips."""
    places: tuple[str, ...] = ()
    """All places with this departure, which a page folds, e.g. `("content, last",)`."""


class ValueChange(Struct, frozen=True):
    """A value that changed, before and after."""

    name: Text
    """The value's name, e.g. `Text("tools")`."""
    left: Text
    """The value before, e.g. `Text("TAG_WITH_TAGGED")`."""
    right: Text
    """The value after, e.g. `Text("TAG_WITH_JSON")`."""


class ValueChanges(Struct, frozen=True):
    """Values before and after."""

    title: str
    """The group of the values, e.g. `"modes"`."""
    changes: tuple[ValueChange, ...]
    """The values, e.g. the one named `tools`."""


class TableColumn(Struct, frozen=True):
    """A column of a table, and its layout on a terminal."""

    head: str
    """The heading, e.g. `"count"`."""
    cells: int = 0
    """Its width, e.g. `29`; 0 fits its texts, and in the last column the rest of the line."""
    right: bool = False
    """Whether its texts are aligned to the right, e.g. `True` for counts."""
    gap: int = 2
    """Cells between this column and the next, e.g. `1`."""
    cut: bool = False
    """Whether a long text is cut, e.g. `True` for calls of a family, and not continued below."""
    at_words: bool = True
    """Whether lines are broken between words, e.g. `False` for markers: at the full width."""
    title: str = ""
    """The full heading, e.g. `"self-check passes"`, for which a terminal has no room."""
    bar_of: int = 0
    """The value of a full bar, e.g. `921`, drawn beside each number on a page; 0 for no bars."""


class Table(Struct, frozen=True):
    """Rows of cells; the first cell is the row's name."""

    columns: tuple[TableColumn, ...]
    """The columns, e.g. `(TableColumn("marker"), TableColumn("text"))`."""
    rows: tuple[tuple[Text, ...], ...]
    """A cell for each column, e.g. `((Text("reasoning_end"), Text("</think>")),)`."""
    indent: int = 0
    """Cells before the first column, e.g. `2`."""
    head: str = ASIDE
    """Style of the column headings, e.g. `"bold"`."""
    caption: str = ""
    """The table's name for screen readers, e.g. `"Round trips"`."""
    asides: tuple[str, ...] = ()
    """A page's remark below the name of each row, e.g. `("such as a.jinja, b.jinja",)`."""
    look: str = ""
    """Classes on a page that set the widths of its columns, e.g. `"shares wide"`."""
    grouped: bool = False
    """Whether a name that several rows share is shown only once, e.g. `True` for switches."""
    most: int = 0
    """Rows that a terminal shows before it counts the rest, e.g. `4`, or 0 for all."""

    def repeats(self, at: int) -> bool:
        """Return whether a row's name is omitted because the row before has the same."""
        return self.grouped and at > 0 and self.rows[at][0].plain == self.rows[at - 1][0].plain


class Fitted(Struct, frozen=True):
    """Alternative blocks, chosen by the available width."""

    choose: Callable[[int], Blocks]
    """Returns the blocks for a width in cells, e.g. shorter words for `80` than for `100`."""


class Fold(Struct, frozen=True):
    """Blocks that a page hides until they are opened."""

    summary: Text
    """The line that is shown while it is closed, e.g. `Text("All 56 verdicts")`."""
    blocks: Blocks
    """The hidden blocks, e.g. one `Table`."""
    opened: bool = False
    """Whether it is open at first, e.g. `True` for `"Where it breaks"`."""
    printed: bool = True
    """Whether they are printed on paper even if closed, e.g. `False` for a copy of other blocks."""


class Entry(Struct, frozen=True):
    """A line that can be unfolded."""

    title: str
    """Its name, e.g. `"content-dropped-beside-calls"`."""
    text: Text
    """The result, in a few words, e.g. `Text("content beside a call is not in the prompt")`."""
    label: str = ""
    """A short name before the title, such as a phase's, e.g. `"T3"`."""
    mark: Text | None = None
    """A badge that a page shows before the title, e.g. `badge("error", "bad")`."""
    blocks: Blocks = field(default_factory=list["Block"])
    """The details that unfold, e.g. one `ComparedTexts`; empty if there are none."""
    opened: bool = False
    """Whether it is unfolded at first, e.g. `True` for the phase of `--phase T3`."""
    anchor: str = ""
    """The target of links to it, e.g. `"phase-T3"`."""

    @property
    def name(self) -> str:
        """Return the title with its label."""
        return f"{self.label} {self.title}".strip()


class Entries(Struct, frozen=True):
    """Lines that a page and a comment can unfold.

    A terminal shows the lines, and below them the opened ones in full.
    """

    entries: tuple[Entry, ...]
    """The lines, e.g. one for each phase."""
    kind: str = ""
    """The noun for one entry, which a terminal shows above the full entry, e.g. `"Phase"`."""


class TextSide(Struct, frozen=True):
    """One of two compared texts, or a text alone."""

    title: str
    """The name of the text, e.g. `"the template renders"`."""
    note: str = ""
    """A remark beside the title, e.g. `"with tools, with the generation prompt"`."""
    above: Blocks = field(default_factory=list["Block"])
    """The origin of the text, such as a conversation of `"user"` and `"assistant"`."""
    error: Text | None = None
    """The reason for an absent text, e.g. `Text("no text, it raises")`."""
    below: Blocks = field(default_factory=list["Block"])
    """Blocks after the text, e.g. a `Fold` with the conversation as JSON."""
    label: str = ""
    """A description for screen readers, e.g. `"the template's render"`."""


class ComparedTexts(Struct, frozen=True):
    """One text, or two: a page puts them side by side, a terminal shows their differences."""

    sides: tuple[TextSide, ...]
    """The texts' names, e.g. `(TextSide("nothing set"), TextSide("enable_thinking=false"))`."""
    pieces: tuple[DifferencePiece, ...]
    """The texts, cut as by `compare_texts`, e.g. one piece of `Side.BOTH` for a text alone."""
    caption: str = ""
    """The subject of the comparison, e.g. `"with content / without"`; empty without one."""

    @property
    def same(self) -> bool:
        """Return whether there are two equal texts."""
        # Two texts that both raised have no pieces, and are not called the same.
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
    """The name of a macro in `page_templates/pictures.jinja`, e.g. `"turn"`."""
    # Each macro has data of its own; their types would tie blocks to the modules that draw.
    data: object
    """The macro's argument, e.g. the groups of a turn."""
    instead: Blocks
    """Blocks of the same content, e.g. `Facts`; empty if the drawing is only for pages."""


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
    # A terminal cannot unfold a line, so an opened entry is drawn below the list.
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


def join_texts(texts: Sequence[Text], separator: str) -> Text:
    """Join texts with a separator."""
    return Text(separator).join(texts)


def difference(
    pieces: Iterable[DifferencePiece],
    indent: int = 2,
    origins: tuple[LineOrigins, LineOrigins] | None = None,
) -> Blocks:
    """Return two texts and their differences as a `ShownDifference`."""
    return [ShownDifference(tuple(pieces), indent, origins)]


def tag_text(words: str, tag: str, **attributes: str) -> Text:
    """Return words that a page puts into an element; other painters ignore the element."""
    return Text(words, Style(meta={"tag": tag, **attributes}))


def badge(words: str, kind: str) -> Text:
    """Return a verdict as a badge; `kind` is good, bad, doubt or plain."""
    return tag_text(words, "span", **{"class": f"badge {kind}"})


def code(words: str) -> Text:
    """Return a name that can be typed."""
    return tag_text(words, "code")


def link(words: str, address: str) -> Text:
    """Return words that link to a place in the page, or to a page beside it."""
    return tag_text(words, "a", href=address)


def small(words: str) -> Text:
    """Return words in small print."""
    return tag_text(words, "small")


class StyledRun(Struct, frozen=True):
    """A run of words with the same style."""

    words: str
    """The characters, e.g. `"</s>"`."""
    styles: tuple[str, ...]
    """The names of its styles, e.g. `("cyan",)`."""
    tags: tuple[Mapping[str, str], ...]
    """Elements of a page around the run, outermost first, each with its attributes, e.g. `({"tag":
    "a", "href": "#turn"},)`."""


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
    # Spans of `rich` overlap; a page needs runs that do not.
    cuts = sorted({0, len(plain), *(edge for span in text.spans for edge in span[:2])})
    for start, end in pairwise(cuts):
        styles = [text.style]
        styles += [span.style for span in text.spans if span.start <= start < span.end]
        # Rich writes a style without attributes as `none`.
        names = [name for style in styles for name in str(style).split() if name != "none"]
        tags = [style.meta for style in styles if isinstance(style, Style) and "tag" in style.meta]
        yield StyledRun(plain[start:end], tuple(dict.fromkeys(names)), tuple(tags))


def split_pieces(before: str, left: str, right: str, after: str) -> tuple[DifferencePiece, ...]:
    """Return the pieces of two texts that differ in one place."""
    sides = ((Side.BOTH, before), (Side.LEFT, left), (Side.RIGHT, right), (Side.BOTH, after))
    return tuple(DifferencePiece(side, text) for side, text in sides if text)


def compare_texts(left: str, right: str) -> list[DifferencePiece]:
    """Cut two texts into shared pieces and pieces of only one text."""
    start = prefix_length(left, right)
    # Only after the prefix, so that no character of `aa` and `aaa` is counted twice.
    end = suffix_length(left[start:], right[start:])
    middle_left, middle_right = left[start : len(left) - end], right[start : len(right) - end]
    before, after = left[:start], left[len(left) - end :]
    if max(len(middle_left), len(middle_right)) > COMPARED_CHARACTERS:
        return [*split_pieces(before, middle_left, middle_right, after)]
    middle = _align_texts(middle_left, middle_right)
    pieces = (DifferencePiece(Side.BOTH, before), *middle, DifferencePiece(Side.BOTH, after))
    return [piece for piece in pieces if piece.text]


SHORTEST_MATCH = 4
"""Fewer equal characters between two differences are a coincidence."""


def _align_texts(left: str, right: str) -> Iterator[DifferencePiece]:
    # By default, `difflib` ignores the frequent characters of a long text, such as spaces.
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    at_left = at_right = 0
    for match in matcher.get_matching_blocks():
        # The last match has size 0, and follows the remaining text of both.
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
    # The text of an encoder has no line: its Python code is not traced.
    return "" if line is None else str(line)
