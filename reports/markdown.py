"""The painter of Markdown: blocks as a comment on a pull request.

Contract: text of a template is put into code or escaped, so that it is inert: it makes no heading,
no link and no mention. For example,

    inline(sentence("ends with ", quoted("</s>"), ", see #12"))  ->  ends with `</s>`, see `#12`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from rich.text import Text

from .blocks import (
    MARKER,
    STRONG,
    Block,
    Blocks,
    ComparedTexts,
    Departure,
    Entries,
    Entry,
    Excerpt,
    Facts,
    Fitted,
    Fold,
    Gap,
    Heading,
    Paragraph,
    Picture,
    ShownDifference,
    Table,
    ValueChanges,
    Words,
    styled_runs,
)
from .terminal import difference_lines, drawn_lines
from .visible import visible

WIDTH = 100
"""Cells of a line in a fence."""
_BEFORE = 20
"""Characters shown before the departure of two texts."""
_SIGNS = {"-": "−", "+": r"\+"}
"""The signs of the left and the right side, which must not begin another list in an item."""
_RUNS = re.compile("`+")


def markdown_text(title: str, blocks: Iterable[Block]) -> str:
    """Return a report as Markdown below a title."""
    return "\n".join([f"### {title}", *markdown_lines(blocks)]) + "\n"


def markdown_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Return the lines of a report in Markdown."""
    for block in blocks:
        yield from _block_lines(block)


def _block_lines(block: Block) -> Iterator[str]:  # noqa: C901, PLR0912 - a branch a kind
    """Yield the lines of one block of any kind, for a comment on GitHub."""
    match block:
        case Gap():
            return
        case Heading():
            yield from ("", f"#### {inline(block.title)}")
        case Paragraph():
            yield from ("", inline(block.words))
        case Facts():
            yield ""
            for label, text in block.rows:
                yield f"- {_label(str(label))}{inline(text)}"
        case Excerpt():
            yield from ("", *fence_lines([line.plain for line in block.lines]))
        case ShownDifference():
            drawn = difference_lines(block.pieces, WIDTH, 0, block.origins)
            # In a fence of `diff`, GitHub colors the lines by their signs.
            yield from ("", *fence_lines([line.plain for line in drawn], "diff"))
        case Departure():
            yield from _departure(block)
        case ValueChanges():
            yield from ("", f"| **{plain(block.title)}** | before | after |", "|---|---|---|")
            for change in block.changes:
                left, right = cell(change.left.plain), cell(change.right.plain)
                yield f"| {inline(change.name)} | {left} | {right} |"
        case Table():
            yield from _table_lines(block)
        case Fold():
            yield from _folded_lines(inline(block.summary), block.blocks)
        case Entries():
            for entry in block.entries:
                yield from _entry_lines(entry)
        case ComparedTexts():
            drawn = drawn_lines([block], WIDTH)
            yield from ("", *fence_lines([line.plain for line in drawn], "diff"))
        case Picture():
            # A comment can show no drawing of a page.
            yield from markdown_lines(block.instead)
        case Fitted():
            yield from markdown_lines(block.choose(WIDTH))
        case _:
            assert_never(block)


def _label(label: str) -> str:
    if label in _SIGNS:
        return f"{_SIGNS[label]} "
    return f"{plain(label)}: " if label.strip() else ""


def _entry_lines(entry: Entry) -> Iterator[str]:
    line = f"{plain(entry.name)}: {inline(entry.text)}"
    yield from _folded_lines(line, entry.blocks) if entry.blocks else ("", line)


def _folded_lines(summary: str, blocks: Blocks) -> Iterator[str]:
    # After a line of HTML, Markdown is parsed only from the next empty line on.
    yield from ("", "<details><summary>", "", summary, "", "</summary>")
    yield from (*markdown_lines(blocks), "", "</details>")


def _departure(block: Departure) -> Iterator[str]:
    yield ""
    # A line of a comment is narrow, and the texts after the departure matter more.
    before = block.before[-_BEFORE:]
    if before != block.before:
        before = f"…{before}"
    for side in block.sides:
        sign = _side_label(side.label)
        if side.text is None:
            yield f"- {sign}{inline(side.error or Text())}"
        else:
            yield f"- {sign}{code_span(f'{before}{side.text}')}"


def _side_label(label: str) -> str:
    """Write a label such as `- line 48`: the sign, and the line of the template."""
    sign, _, line = label.partition(" ")
    if sign not in _SIGNS:
        return _label(label)
    return _label(sign) + (f"{plain(line)}: " if line else "")


def _table_lines(block: Table) -> Iterator[str]:
    yield from ("", f"| {' | '.join(plain(column.head) for column in block.columns)} |")
    yield f"|{'---|' * len(block.columns)}"
    for at, cells in enumerate(block.rows):
        # Markdown has no cells over several rows.
        named = [Text(), *cells[1:]] if block.repeats(at) else cells
        yield f"| {' | '.join(map(inline, named))} |"


def inline(words: Words) -> str:
    """Return words on one line: markers as code, emphasis bold, all else escaped."""
    if isinstance(words, str):
        return plain(words)
    pieces: list[str] = []
    for run in styled_runs(words):
        if MARKER in run.styles or any(tag["tag"] == "code" for tag in run.tags):
            pieces.append(cell(run.words))
        # With spaces inside the stars, Markdown shows them.
        elif STRONG in run.styles and run.words.strip() == run.words:
            pieces.append(f"**{plain(run.words)}**")
        else:
            pieces.append(plain(run.words))
    return "".join(pieces)


_LIVE = re.compile(r"@[\w/.-]+|\bGH-\d+|#\d+|\bhttps?://\S+|\bwww\.\S+")
"""Text that GitHub turns into a mention or a link outside of code."""
_SIGN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@$^-])")


def plain(text: str) -> str:
    """Escape words so that Markdown shows them literally, on one line."""
    pieces: list[str] = []
    end = 0
    seen = visible(text)
    for match in _LIVE.finditer(seen):
        pieces += [_escape_signs(seen[end : match.start()]), cell(match.group())]
        end = match.end()
    return "".join([*pieces, _escape_signs(seen[end:])])


def _escape_signs(text: str) -> str:
    return _SIGN.sub(r"\\\1", text)


def cell(text: str) -> str:
    """Return a code span for a table, in which an unescaped bar would end the column."""
    return code_span(text).replace("|", "\\|")


def code_span(text: str) -> str:
    """Return a code span of one line that its text cannot close."""
    inside = visible(text)
    longest = max((len(run) for run in _RUNS.findall(inside)), default=0)
    fence = "`" * (longest + 1)
    # A backquote at an edge would join the fence, and a fence around nothing is not a span.
    space = " " if inside[:1] == "`" or inside[-1:] == "`" or not inside.strip() else ""
    return f"{fence}{space}{inside}{space}{fence}"


def fence_lines(lines: list[str], language: str = "") -> Iterator[str]:
    """Return lines in a fence that none of them can close."""
    longest = max((len(run) for line in lines for run in _RUNS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence
