"""The debugger's panes: a template's lines, the prompt beside them, and the reasons for a piece.

Over the prompt, if asked: where its tokens begin, and what a training run learns.

A piece of the prompt is drawn in parts, cut at its newlines (`↵`) and where a mark begins or ends.
For example, with marks at the offsets 11 and 14, the piece `ab↵cd` at the offset 10 has the parts

    (10, "a"), (11, "b↵"), (13, "c"), (14, "d")
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from rich.style import Style
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.overview.debugged_prompts import PromptMarks
from autoparser.analysis.templates.render_trace import PromptPiece, RenderTrace, StepKind, TraceStep

from .blocks import (
    Block,
    Blocks,
    DifferencePiece,
    LineOrigins,
    Side,
    blank,
    compare_texts,
    difference,
    line_at,
    prose,
    rows,
    sentence,
)
from .render_trace import line_words, seen_words, source_words
from .terminal import Lines, drawn_lines, wrap_line
from .visible import marker_text, value_words, visible

PIECE = "piece"
"""The style attribute that maps a drawn character, when clicked, to its piece."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBER = "dim"
_RAN, _MISSED = "", "dim"
_CURRENT, _OUTER = "reverse", "bold yellow"
_LEARNED, _NOT_LEARNED = Style(color="green", underline=True), Style(dim=True)
_BETWEEN, _GOES_ON = "·", "‥"
_MOST_TOKENS = 40
"""Tokens of one piece with ids shown."""
_SIDES = {Side.LEFT: "red", Side.RIGHT: "green"}


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A text laid out for a pane."""

    text: Text
    r"""The lines, joined by newlines, e.g. `Text("::user↵\nHi↵")`."""
    rows: tuple[int, ...]
    """The row, from 0, in which each piece or template line begins, e.g. `(0, 1, 1)`."""


def drawn_prompt(trace: RenderTrace, width: int, current: int, marks: PromptMarks) -> DrawnText:
    """Draw the prompt with the current piece in another style, and the requested marks.

    Text that a training run learns is underlined; `·` separates two tokens.
    """
    flat = Text()
    begins: list[int] = []
    cuts = _cuts(marks)
    # No sign before the first token, nor before one that only continues a character.
    tokens = {start for start, end, _ in marks.tokens if 0 < start < end}
    at = 0
    for number, piece in enumerate(trace.pieces):
        begins.append(len(flat))
        style = Style(reverse=number == current) + Style.from_meta({PIECE: number})
        for start, part in _cut_text(piece.text, at, cuts):
            if start in tokens:
                flat.append(_BETWEEN, "dim")
            flat.append(visible(part), _learned_style(marks, start) + style)
            flat.append("\n" if part.endswith("\n") else "")
        at += len(piece.text)
    # A window may be narrower than any text fits.
    return DrawnText(*_wrap_text(flat, begins, max(width, 10)))


def _cuts(marks: PromptMarks) -> Sequence[int]:
    """Return the offsets at which a mark begins or ends."""
    edges = (at for span in marks.learned or () for at in span)
    return sorted({*edges, *(start for start, _, _ in marks.tokens)})


def _cut_text(text: str, first: int, cuts: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Cut a text at its newlines and at offsets in the prompt, where it begins at `first`."""
    inside = cuts[bisect_right(cuts, first) : bisect_left(cuts, first + len(text))]
    for start, end in pairwise((first, *inside, first + len(text))):
        at = start
        for line in _LINE.findall(text[start - first : end - first]):
            yield at, line
            at += len(line)


def _learned_style(marks: PromptMarks, at: int) -> Style:
    if marks.learned is None:
        return Style()
    return _LEARNED if _count_learned(marks, at, at + 1) else _NOT_LEARNED


def _count_learned(marks: PromptMarks, start: int, end: int) -> int:
    """Count the characters of a range that a training run learns."""
    ranges = marks.learned or ()
    # The ranges are in order and apart, so their ends are in order, too.
    first = bisect_right(ranges, start, key=itemgetter(1))
    until = bisect_left(ranges, end, key=itemgetter(0))
    return sum(min(end, stop) - max(start, begin) for begin, stop in ranges[first:until])


def _wrap_text(flat: Text, marks: Sequence[int], width: int) -> tuple[Text, tuple[int, ...]]:
    """Break a text at a width, and return the row of each marked offset."""
    drawn: Lines = []
    begins: list[int] = []
    at = 0
    for line in flat.split("\n", allow_blank=True):
        start = at
        for part in wrap_line(line, width, words=False):
            drawn.append(part)
            begins.append(start)
            start += len(part)
        at += len(line) + 1
    # The marks are in order, so one pass over the rows finds them all.
    found: list[int] = []
    row = 0
    for mark in marks:
        while row + 1 < len(begins) and begins[row + 1] <= mark:
            row += 1
        found.append(row)
    return Text("\n").join(drawn), tuple(found)


def drawn_template(trace: RenderTrace, width: int, current: int) -> DrawnText:
    """Draw the template's lines with their numbers, broken at the width; unused lines are dim.

    The lines of the current piece are marked: where it was written, and where it was output.
    """
    ran = {trace.sites[step.site].line for step in trace.steps}
    ran |= {trace.sites[piece.site].line for piece in trace.pieces if piece.site is not None}
    here = trace.pieces[current] if 0 <= current < len(trace.pieces) else None
    inner = None if here is None or here.site is None else trace.sites[here.site].line
    outer = {trace.sites[site].line for site in (here.through if here is not None else ())}
    first = {
        trace.sites[piece.site].line: number
        # In reverse, so that the first piece of each line stays.
        for number, piece in reversed([*enumerate(trace.pieces)])
        if piece.site is not None
    }
    drawn: Lines = []
    begins: list[int] = []
    source = trace.text.split("\n")
    for number, line in enumerate(source, 1):
        style = _CURRENT if number == inner else _OUTER if number in outer else ""
        style = style or (_RAN if number in ran else _MISSED)
        margin = "▸" if number == inner else "▹" if number in outer else " "
        begins.append(len(drawn))
        # Tabs would be drawn as their sign, and an empty line would show no highlight.
        words = Text(visible(line.expandtabs(4)) or " ", style)
        parts = wrap_line(words, max(width - _MARGIN, 10), words=False)
        for at, part in enumerate(parts):
            label = " " * _MARGIN if at else f"{margin}{number:>{_MARGIN - 2}} "
            text = sentence((label, _NUMBER), part)
            if number in first:
                text.stylize(Style.from_meta({PIECE: first[number]}))
            drawn.append(text)
    return DrawnText(Text("\n").join(drawn), tuple(begins))


_MARGIN = 6
"""Cells before a line of the template, for its number."""


def piece_text(trace: RenderTrace, current: int, width: int, marks: PromptMarks) -> Text:
    """Describe a piece: its line, tests and loops with their values, and its marks."""
    if not 0 <= current < len(trace.pieces):
        return Text("Nothing was written.", style="dim")
    piece = trace.pieces[current]
    at, line = f"{current + 1} of {len(trace.pieces)}", f"  line {line_words(trace, piece)}  "
    # Cut before it is made visible: a piece may be a whole list of tools.
    text, room = marker_text(piece.text[:LONGEST_SHOWN]), max(width - len(at + line), 20)
    text = text if len(text) <= room else f"{text[: room - 1]}…"
    drawn = prose(sentence((at, "bold"), line, (text, "cyan")), indent=0)
    drawn += _mark_rows(trace, current, marks)
    # The text of an encoder has no place: its Python code is not traced.
    if piece.site is None:
        return _draw_text(drawn, width)
    drawn += rows([("written by", source_words(trace, piece.site))], words=False, label=12)
    wrote = _writing(trace, piece)
    if wrote is not None and wrote.seen:
        drawn += rows([("where", seen_words(wrote.seen))], label=12)
    for site in piece.through:
        # A macro's text is written in one line, and output where the macro is called.
        called = sentence((f"line {trace.sites[site].line}  ", _NUMBER), source_words(trace, site))
        drawn += rows([("called from", called)], words=False, label=12)
    # The innermost test or loop is next to the line that wrote the piece.
    for step in reversed(trace.reasons(piece)):
        drawn += rows([_reason(trace, step)], label=12)
    return _draw_text(drawn, width)


def _mark_rows(trace: RenderTrace, current: int, marks: PromptMarks) -> Iterator[Block]:
    start = sum(len(piece.text) for piece in trace.pieces[:current])
    end = start + len(trace.pieces[current].text)
    inside = [
        # Include a token that begins in the piece before.
        token
        for token in marks.tokens
        if start <= token[0] < end or token[0] < start < token[1]
    ]
    if inside:
        words = sentence((f"{len(inside)}: ", _NUMBER))
        for at, (begin, stop, id_) in enumerate(inside[:_MOST_TOKENS]):
            words.append(f" {_BETWEEN} " if at else "", _NUMBER).append(f"{id_} ", _NUMBER)
            words.append(marker_text(marks.text[begin:stop]) or _GOES_ON, "cyan")
        left = len(inside) - _MOST_TOKENS
        words.append(f" {_BETWEEN} {left} more" if left > 0 else "", _NUMBER)
        yield from rows([("tokens", words)], words=False, label=12)
    if marks.learned is not None:
        learned = _count_learned(marks, start, end)
        part = "trained on" if learned == end - start else f"{learned} of {end - start} characters"
        yield from rows([("loss mask", Text(part if learned else "not trained on"))], label=12)


def learned_length(marks: PromptMarks) -> int:
    """Return how many characters of a prompt a training run learns."""
    return _count_learned(marks, 0, len(marks.text))


def _draw_text(blocks: Blocks, width: int) -> Text:
    return Text("\n").join(drawn_lines(blocks, width))


LONGEST_SHOWN = 60
"""Longest excerpt of the current piece above its description, in characters."""


def _writing(trace: RenderTrace, piece: PromptPiece) -> TraceStep | None:
    """Return the step in which an expression wrote a piece."""
    # `after` counts the steps before the piece, the last of which may have written it.
    for step in trace.steps[max(0, piece.after - 1) : piece.after]:
        if step.site == piece.site and step.kind is StepKind.WRITE:
            return step
    return None


def _reason(trace: RenderTrace, step: TraceStep) -> tuple[str, Text]:
    label = f"line {trace.sites[step.site].line}"
    source = source_words(trace, step.site)
    if step.kind is StepKind.PASS:
        return label, sentence(source, f": pass {step.number}, ", visible(step.words))
    word = ("true", "green") if step.held else ("false", "yellow")
    text = sentence(source, " is ", word)
    return label, sentence(text, ": ", seen_words(step.seen)) if step.seen else text


def failure_text(trace: RenderTrace, width: int) -> Text:
    """Describe why the render ended, where, and the values of the names there."""
    if trace.failure is None:
        return Text()
    at = "" if trace.failure.line is None else f"line {trace.failure.line}: "
    drawn = prose(Text(f"{at}{visible(trace.failure.message)}", style="bold red"), indent=0)
    for open_site in trace.ended_in:
        label = f"line {trace.sites[open_site.site].line}"
        drawn += rows([(label, source_words(trace, open_site.site))], words=False, label=12)
        if open_site.seen:
            drawn += rows([("where", seen_words(open_site.seen))], label=12)
    return _draw_text(drawn, width)


def switched_text(
    trace: RenderTrace, others: Sequence[tuple[str, Json, RenderTrace]], width: int
) -> Text:
    """Draw the changes that each switch's values make in the prompt of one conversation."""
    drawn: Blocks = []
    if not others:
        drawn += prose("No variable of this template changes a render.", indent=0)
    for name, value, other in others:
        words = Text(f"{visible(name)}={value_words(value)}", style="bold")
        if other.failure is not None:
            drawn += prose(sentence(words, (f"  {visible(str(other.failure))}", "red")))
        # A switch may change only conversations of another kind, such as those with reasoning.
        elif other.prompt == trace.prompt:
            drawn += prose(sentence(words, ("  changes nothing here", "dim")))
        else:
            drawn += prose(words)
            pieces = compare_texts(trace.prompt, other.prompt)
            origins = _origins(trace), _origins(other)
            drawn += difference(pieces, indent=2, origins=origins)
        drawn += blank()
    return _draw_text(drawn, width)


def beside_text(left: RenderTrace, right: RenderTrace, width: int) -> tuple[Text, Text]:
    """Draw two prompts for two panes of this width, differences in color.

    Each line has the number of the template line that wrote its beginning.
    """
    pieces = compare_texts(left.prompt, right.prompt)
    return _side(left, pieces, Side.LEFT, width), _side(right, pieces, Side.RIGHT, width)


def _side(trace: RenderTrace, pieces: Sequence[DifferencePiece], side: Side, width: int) -> Text:
    origins = _origins(trace)
    drawn: Lines = []
    at = 0
    line = Text()
    label = ""
    for text, style in _styled_lines(pieces, side):
        label = label or line_at(origins, at)
        line.append(visible(text), style)
        at += len(text)
        if text.endswith("\n"):
            drawn += _number_lines(label, line, width)
            line, label = Text(), ""
    if line.plain:
        drawn += _number_lines(label, line, width)
    return Text("\n").join(drawn)


def _styled_lines(pieces: Sequence[DifferencePiece], side: Side) -> Iterator[tuple[str, str]]:
    for piece in pieces:
        if piece.side in {Side.BOTH, side}:
            for line in _LINE.findall(piece.text):
                yield line, _SIDES.get(piece.side, "")


def _number_lines(label: str, line: Text, width: int) -> Lines:
    parts = wrap_line(line, max(width - 6, 10), words=False)
    return [
        sentence((f"{label if not at else '':>5} ", _NUMBER), part) for at, part in enumerate(parts)
    ]


def _origins(trace: RenderTrace) -> LineOrigins:
    found: list[tuple[int, int | None]] = []
    at = 0
    for piece in trace.pieces:
        found.append((at, None if piece.site is None else trace.sites[piece.site].line))
        at += len(piece.text)
    return found
