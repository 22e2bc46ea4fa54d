"""The painter of terminals: blocks as lines of at most a width, each with its styles.

Contract: lines are already broken, so that the text is the same with and without styles.

For example, at a width of 16, between words and then without loss of a character:

    wrapped(Text("the prompt ends with <think> here"), 16, words=True)
    ->  "the prompt ends", "with <think>", "here"
    wrapped(Text('<tool_call>{"name": "weather"}'), 16, words=False)
    ->  '<tool_call>', '{"name": "weathe', 'r"}'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

from rich.cells import cell_len
from rich.text import Text

from .blocks import (
    ALIKE_CHARACTERS,
    ALIKE_LINES,
    DIFFERENT_CHARACTERS,
    SAME_TEXT,
    Block,
    ComparedTexts,
    Departure,
    DifferencePiece,
    Entries,
    Excerpt,
    Facts,
    Fitted,
    Fold,
    Gap,
    Heading,
    LineOrigins,
    Paragraph,
    Picture,
    Row,
    ShownDifference,
    Side,
    Table,
    TableColumn,
    ValueChanges,
    Words,
    blank,
    entry_blocks,
    line_at,
    prose,
    sentence,
)
from .visible import counted_noun, lines, visible

Lines: TypeAlias = list[Text]

HEADING_STYLE = "bold"
LABEL_STYLE = "dim"
NARROWEST = 20
"""Cells that words get on any terminal, even beyond its width."""
_GAP = 2
"""Cells between a label and its text."""


def report_text(blocks: Iterable[Block], width: int, *, first_gap: bool = True) -> Text:
    """Paint a report without trailing spaces.

    Without `first_gap` it does not begin with the empty line of a heading.
    """
    drawn = drawn_lines(blocks, width)
    # Only an empty line: a report may begin without a heading.
    if not first_gap and drawn and not drawn[0].plain:
        del drawn[0]
    return joined_lines(drawn)


def joined_lines(text_lines: Lines) -> Text:
    """Join lines, without trailing spaces."""
    # Trailing spaces would be copied with a line, and wrap on a narrow terminal.
    for line in text_lines:
        line.rstrip()
    return Text("\n").join(text_lines)


def drawn_lines(blocks: Iterable[Block], width: int) -> Lines:
    """Draw blocks one below the other."""
    return [line for block in blocks for line in _block_lines(block, width)]


def _block_lines(block: Block, width: int) -> Lines:  # noqa: C901, PLR0912 - a branch a kind
    """Paint one block of any kind in lines of at most `width` cells."""
    match block:
        case Gap():
            return [Text()]
        case Heading():
            # A block may be painted again at another width, and must not change.
            title = block.title.copy()
            title.style = HEADING_STYLE
            hint = prose(block.hint) if block.hint else []
            return [Text(), *wrap_line(title, width, words=True), *drawn_lines(hint, width)]
        case Paragraph():
            return _paragraph(block, width)
        case Facts():
            return fact_lines(
                block.rows,
                width,
                indent=block.indent,
                words=block.at_words,
                label=block.label,
            )
        case Excerpt():
            return _excerpt(block, width)
        case ShownDifference():
            return difference_lines(block.pieces, width, block.indent, block.origins)
        case Departure():
            return _departure(block, width)
        case ValueChanges():
            return [line for change in _changes(block) for line in _block_lines(change, width)]
        case Table():
            return _draw_table(block, width)
        case Fold():
            return drawn_lines([Paragraph(block.summary), *block.blocks], width)
        case Entries():
            return _entries(block, width)
        case ComparedTexts():
            return drawn_lines(_compared_texts(block), width)
        case Picture():
            return drawn_lines(block.instead, width)
        case Fitted():
            return drawn_lines(block.choose(width), width)
        case _:
            assert_never(block)


def _paragraph(block: Paragraph, width: int) -> Lines:
    # A line beyond a very narrow terminal is better than a word a line.
    room = max(width - block.indent - block.hang, NARROWEST)
    return [
        sentence(" " * (block.indent + block.hang * bool(at)), line)
        for at, line in enumerate(wrap_line(block.words, room, words=True))
    ]


def fact_lines(
    pairs: Sequence[tuple[Words, Text]],
    width: int,
    *,
    indent: int = 2,
    words: bool = True,
    label: int = 0,
) -> Lines:
    """Lay out labels and their texts in two columns.

    `words` breaks the texts between words, otherwise at the full width; `label` is the minimum
    width of the labels' column.
    """
    widest = max((cell_len(str(name)) for name, _ in pairs), default=0)
    # Labels get at most a third of the width; longer ones are wrapped.
    column = min(max(widest, label), max(width // 3, 8))
    rest = max(width - indent - column - _GAP, NARROWEST // 2)
    found: Lines = []
    for name, text in pairs:
        title = Text(name, style=LABEL_STYLE) if isinstance(name, str) else name
        left = wrap_line(title, column, words=True)
        right = wrap_line(text, rest, words=words)
        for at in range(max(len(left), len(right))):
            line = Text(" " * indent)
            if at < len(left):
                line.append_text(left[at])
            if at < len(right) and right[at]:
                line.append(" " * (indent + column + _GAP - cell_len(line.plain)))
                line.append_text(right[at])
            found.append(line)
    return found


def cut_at_word(line: Text, width: int) -> None:
    """Cut a line that is too long after its last whole word, or at the width if it has none."""
    if line.cell_len > width:
        # One cell more, which may be the space after a word that just fits.
        line.truncate(width + 1)
        end = line.plain.rstrip().rfind(" ")
        # `end` counts characters, and `truncate` cells, of which a wide character has two.
        if line.plain[: max(end, 0)].strip():
            line.right_crop(len(line) - end)
        else:
            line.truncate(width)
        line.rstrip()


def next_line(arguments: str, width: int, label: int) -> Text:
    """Return the next command on one line, even one beyond the width, ready to be copied."""
    command = f"autoparser {arguments}"
    # Without the column of labels, a longer command still fits on its line.
    column = label if len(command) <= width - label - _GAP else 0
    return sentence((f"{'Next':<{column}}", LABEL_STYLE), " " * _GAP, command)


def _excerpt(block: Excerpt, width: int) -> Lines:
    room = max(width - block.indent, 10)
    return [
        sentence(" " * block.indent, piece)
        for line in block.lines
        for piece in (wrap_line(line, room, words=False) if block.broken else [line])
    ]


def _departure(block: Departure, width: int) -> Lines:
    """Show both texts from shortly before their departure, one line each."""
    room = max(width - block.margin, 20)
    whole = visible(block.before)
    # A third of the line, rounded up: the texts after the departure matter more.
    before = whole[-room // 3 :]
    while block.by_cells and cell_len(before) > -(-room // 3):
        before = before[1:]
    if before != whole:
        before = f"…{before}"
    pairs: list[Row] = []
    for side in block.sides:
        if side.text is None:
            pairs.append((side.label, side.error or Text()))
            continue
        shown = sentence((before, "dim"), side.text)
        if block.by_cells:
            # Some scripts, and the bars of some markers, take two cells per character.
            shown.truncate(room, overflow="ellipsis")
        elif len(shown) > room:
            shown = sentence(shown[: room - 1], "…")
        if not side.text and side.end is not None:
            shown.append_text(side.end)
        pairs.append((side.label, shown))
    return fact_lines(pairs, width, indent=4, words=False)


def _changes(block: ValueChanges) -> Iterator[Block]:
    yield Paragraph(Text(block.title, style="bold"))
    for change in block.changes:
        yield Paragraph(change.name, indent=4, hang=2)
        yield Facts((("-", change.left), ("+", change.right)), indent=6, at_words=False)


def _entries(block: Entries, width: int) -> Lines:
    opened = [entry for entry in block.entries if entry.opened]
    pairs: list[Row] = []
    for at, entry in enumerate(block.entries):
        # The same reason of twelve failures is read once.
        long = cell_len(entry.text.plain) > width // 2
        same = at > 0 and entry.text == block.entries[at - 1].text
        pairs.append((entry.name, Text("as above", style="dim") if long and same else entry.text))
    # A single opened entry is named by its own heading.
    drawn = fact_lines(pairs, width) if len(pairs) > 1 or not opened else []
    full = [entry_block for entry in opened for entry_block in entry_blocks(entry, block.kind)]
    return drawn + drawn_lines(full, width)


def _compared_texts(block: ComparedTexts) -> Iterator[Block]:
    """Show the origin of each text, and the differences below both."""
    # A text alone is neither the old nor the new one.
    signs = ("- ", "+ ") if len(block.sides) > 1 else ("",)
    if block.caption:
        yield from [*blank(), *prose(Text(visible(block.caption), style="bold"))]
    for sign, side in zip(signs, block.sides, strict=True):
        # Below a conversation, a failure comes after both conversations.
        failed = side.error if side.error is not None and not side.above else ""
        note = sentence(": ", side.note, failed) if side.note or failed else ""
        yield from [*prose(sentence(f"{sign}{side.title}", note), hang=2), *side.above]
    yield from blank() if any(side.above for side in block.sides) else []
    for sign, side in zip(signs, block.sides, strict=True):
        if side.error is not None and side.above:
            yield from prose(sentence(sign, side.error), hang=2)
    yield from prose(SAME_TEXT) if block.same else [ShownDifference(block.pieces)]
    yield from [block_below for side in block.sides for block_below in side.below]


def _draw_table(block: Table, width: int) -> Lines:
    columns = block.columns
    sizes = _sizes(block, width)
    # Do not break the title of a column that has no fixed width.
    roomy = [
        max(size, len(column.head)) if column.cells or column.cut else size
        for size, column in zip(sizes, columns, strict=True)
    ]
    drawn = _table_row([Text(column.head) for column in columns], columns, roomy, block.indent)
    for head in drawn:
        head.style = block.head
    shown = block.rows[: block.most or None]
    for at, cells in enumerate(shown):
        named = [Text(), *cells[1:]] if block.repeats(at) else cells
        drawn += _table_row(named, columns, sizes, block.indent)
    left = len(block.rows) - len(shown)
    return drawn + (drawn_lines(prose(f"and {left} more"), width) if left else [])


def _sizes(block: Table, width: int) -> list[int]:
    """Return the width of each column; continued text needs no additional width."""
    sizes = [column.cells for column in block.columns]
    last = len(sizes) - 1
    for at, size in enumerate(sizes):
        if size:
            continue
        # The margin is on both sides, so that a table never touches the edge.
        used = sum(sizes) + sum(column.gap for column in block.columns[:-1]) + 2 * block.indent
        column = block.columns[at]
        widest = max([len(column.head), *(cell_len(cells[at].plain) for cells in block.rows)])
        room = max(width - used, 10)
        # Keep a name whole if that leaves the other columns some room.
        word = max(
            (cell_len(word) for row in block.rows for word in row[at].plain.split()), default=0
        )
        share = max(room, 12) if column.cut else max(width // (last + 2), min(word, width // 3), 8)
        sizes[at] = room if at == last else min(widest, share)
    return sizes


def _table_row(
    cells: Sequence[Text], columns: Sequence[TableColumn], sizes: Sequence[int], indent: int
) -> Lines:
    """Draw a row; text too wide for its column is cut, or continued in the next line."""
    pieces = [
        [_fitting(cell, size)] if column.cut else wrap_line(cell, size, words=column.at_words)
        for cell, column, size in zip(cells, columns, sizes, strict=True)
    ]
    drawn: Lines = []
    for at in range(max(map(len, pieces))):
        line = Text(" " * indent)
        for cell_lines, column, size in zip(pieces, columns, sizes, strict=True):
            piece = cell_lines[at] if at < len(cell_lines) else Text()
            piece.rstrip()
            space = " " * max(0, size - cell_len(piece.plain))
            line.append(space if column.right else "").append_text(piece)
            line.append("" if column.right else space).append(" " * column.gap)
        drawn.append(line)
    return drawn


def _fitting(text: Text, cells: int) -> Text:
    plain = text.plain
    while cell_len(plain) > cells:
        # Wide characters take two cells: one more goes before the ellipsis until all fits.
        plain = f"{plain[: cells - 2]}…" if len(plain) > cells else f"{plain[:-2]}…"
    return text if plain == text.plain else Text(plain, style=text.style)


_MARGIN = 5
"""Cells for a line number and the space after it."""

_STYLES = {Side.BOTH: "dim", Side.LEFT: "red", Side.RIGHT: "green"}


def difference_lines(
    pieces: Sequence[DifferencePiece],
    width: int,
    indent: int = 2,
    origins: tuple[LineOrigins, LineOrigins] | None = None,
) -> Lines:
    """Draw pieces one below the other, each line with its side's sign in the margin.

    Shared text is reduced to the lines beside a difference. `origins` are those of the two texts: a
    piece of only one side begins with the template line that wrote it.
    """
    drawn: Lines = []
    margin = 0 if origins is None else _MARGIN
    # The offsets in both texts, by which the line that wrote a piece is found.
    reached = {Side.LEFT: 0, Side.RIGHT: 0}
    for at, piece in enumerate(pieces):
        style = _STYLES[piece.side]
        number = ""
        if piece.side is Side.BOTH:
            texts = _context(piece.text, first=at == 0, last=at == len(pieces) - 1)
        else:
            # A side's own text is shown from its beginning, where the departure is.
            texts = _limit_lines(piece.text, style)
            if origins is not None:
                number = line_at(origins[piece.side is Side.RIGHT], reached[piece.side])
        for text in texts:
            for line in wrap_line(text, max(width - indent - 2 - margin, 10), words=False):
                label = (f"{number:>{margin - 1}} " if margin else "", "dim")
                drawn.append(sentence(" " * indent, label, (f"{piece.side.value} ", style), line))
                # Number only the first line of a piece.
                number = ""
        for side in reached:
            reached[side] += len(piece.text) if piece.side in {Side.BOTH, side} else 0
    return drawn


def _limit_lines(text: str, style: str) -> Lines:
    left = len(text) - DIFFERENT_CHARACTERS
    if left <= 0:
        return lines(text, style)
    return [*lines(text[:DIFFERENT_CHARACTERS], style), _omission_text(left, "more character")]


def _omission_text(count: int, noun: str) -> Text:
    return Text(f"… {counted_noun(count, noun)}", style="dim italic")


def _context(text: str, *, first: bool, last: bool) -> Lines:
    """Keep the end of the text before a difference, and the beginning of the text after it."""
    head = "" if first else _beginning(text)
    tail = "" if last else _end(text)
    if len(head) + len(tail) >= len(text):
        return lines(text, "dim")
    left_out = _omission_text(len(text) - len(head) - len(tail), "unchanged character")
    return [*lines(head, "dim"), left_out, *lines(tail, "dim")]


def _beginning(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:ALIKE_LINES])[:ALIKE_CHARACTERS]


def _end(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[-ALIKE_LINES:])[-ALIKE_CHARACTERS:]


def wrap_line(text: Text, width: int, *, words: bool) -> Lines:
    """Break one line into lines of at most `width` cells.

    Without `words` no character is lost: a line is broken before a bracket or a space in its second
    half, so that a tag or a word is not cut in two, otherwise at the full width.
    """
    cuts = _cuts(text.plain, width, words=words)
    # A copy, since callers strip and append to the lines.
    pieces = list(text.divide(cuts)) if cuts else [text.copy()]
    for piece in pieces[:-1] if words else ():
        piece.rstrip()
    return pieces


def packed_lines(lines: Lines, width: int) -> Lines:
    """Join lines up to `width` cells."""
    packed: Lines = []
    for line in lines:
        if packed and packed[-1].cell_len + line.cell_len <= width:
            packed[-1] = sentence(packed[-1], line)
        else:
            packed.append(line)
    return packed


_OPENERS = "<[{("
"""Brackets: a line is better broken before one than inside of its content."""


def _cuts(plain: str, width: int, *, words: bool) -> list[int]:
    cuts: list[int] = []
    start = cells = space = 0
    for at, character in enumerate(plain):
        size = cell_len(character)
        # A space beyond the width is stripped with the line's end.
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
    """Return the place to break a line that is full at `end`."""
    # Brackets first: a marker in two lines cannot be recognized.
    for kind in (_OPENERS, " "):
        # Only in the second half, so that no line is nearly empty.
        for at in range(end, start + (end - start) // 2, -1):
            # Break before the first of adjacent brackets or spaces, so that they stay together.
            if plain[at] in kind and plain[at - 1] not in kind:
                return at
    return end
