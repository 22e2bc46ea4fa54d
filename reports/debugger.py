"""What the debugger draws: a template's lines, the prompt beside them, and why it is so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.templates.render_trace import PromptPiece, RenderTrace, StepKind, TraceStep

from .blocks import (
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
from .terminal import Lines, drawn_lines, wrapped
from .visible import marker_text, value_words, visible

PIECE = "piece"
"""By which a drawn character tells, to a click on it, which piece it is of."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NUMBER = "dim"
_RAN, _MISSED = "", "dim"
_CURRENT, _OUTER = "reverse", "bold yellow"
_SIDES = {Side.LEFT: "red", Side.RIGHT: "green"}


@dataclass(frozen=True, slots=True)
class DrawnPrompt:
    """The prompt as it stands in a pane."""

    text: Text
    rows: tuple[int, ...]
    """In which row each piece begins, from 0."""


def drawn_prompt(trace: RenderTrace, width: int, current: int) -> DrawnPrompt:
    """Draw the prompt, the current piece in another style."""
    flat = Text()
    marks: list[int] = []
    for number, piece in enumerate(trace.pieces):
        marks.append(len(flat))
        flat.append_text(_clickable(piece, number, current=number == current))
    return DrawnPrompt(*_broken(flat, marks, max(width, 10)))


def _clickable(piece: PromptPiece, number: int, *, current: bool) -> Text:
    style = Style(reverse=current) + Style.from_meta({PIECE: number})
    text = Text()
    for line in _LINE.findall(piece.text):
        text.append(visible(line), style)
        if line.endswith("\n"):
            text.append("\n")
    return text


def _broken(flat: Text, marks: Sequence[int], width: int) -> tuple[Text, tuple[int, ...]]:
    """Break a text at a width, and tell in which row each of its places comes to stand."""
    drawn: Lines = []
    begins: list[int] = []
    at = 0
    for line in flat.split("\n", allow_blank=True):
        start = at
        for part in wrapped(line, width, words=False):
            drawn.append(part)
            begins.append(start)
            start += len(part)
        at += len(line) + 1
    found: list[int] = []
    row = 0
    for mark in marks:
        while row + 1 < len(begins) and begins[row + 1] <= mark:
            row += 1
        found.append(row)
    return Text("\n").join(drawn), tuple(found)


def template_text(trace: RenderTrace, current: int) -> Text:
    """Draw the template's lines with their numbers; those that did nothing are dim.

    Those of the current piece are marked: where it was written, and where it was put out.
    """
    ran = {trace.sites[step.site].line for step in trace.steps}
    ran |= {trace.sites[piece.site].line for piece in trace.pieces if piece.site is not None}
    here = trace.pieces[current] if 0 <= current < len(trace.pieces) else None
    inner = None if here is None or here.site is None else trace.sites[here.site].line
    outer = {trace.sites[site].line for site in (here.through if here is not None else ())}
    first = {
        trace.sites[piece.site].line: number
        for number, piece in reversed([*enumerate(trace.pieces)])
        if piece.site is not None
    }
    drawn: Lines = []
    source = trace.text.split("\n")
    for number, line in enumerate(source, 1):
        style = _CURRENT if number == inner else _OUTER if number in outer else ""
        style = style or (_RAN if number in ran else _MISSED)
        margin = "▸" if number == inner else "▹" if number in outer else " "
        text = sentence((f"{margin}{number:>4} ", _NUMBER), (_tabbed(line) or " ", style))
        if number in first:
            text.stylize(Style.from_meta({PIECE: first[number]}))
        drawn.append(text)
    return Text("\n").join(drawn)


def _tabbed(line: str) -> str:
    return visible(line.expandtabs(4))


def piece_text(trace: RenderTrace, current: int, width: int) -> Text:
    """Say who wrote a piece, what let it, and what its names stood for."""
    if not 0 <= current < len(trace.pieces):
        return Text("Nothing was written.", style="dim")
    piece = trace.pieces[current]
    at, line = f"{current + 1} of {len(trace.pieces)}", f"  line {line_words(trace, piece)}  "
    text, room = marker_text(piece.text[:LONGEST_SHOWN]), max(width - len(at + line), 20)
    text = text if len(text) <= room else f"{text[: room - 1]}…"
    drawn = prose(sentence((at, "bold"), line, (text, "cyan")), indent=0)
    if piece.site is None:
        return _painted(drawn, width)
    drawn += rows([("written by", source_words(trace, piece.site))], words=False, label=12)
    wrote = _writing(trace, piece)
    if wrote is not None and wrote.seen:
        drawn += rows([("where", seen_words(wrote.seen))], label=12)
    for site in piece.through:
        label = f"put out by {trace.sites[site].line}"
        drawn += rows([(label, source_words(trace, site))], words=False, label=12)
    for step in reversed(trace.reasons(piece)):
        drawn += rows([_reason(trace, step)], label=12)
    return _painted(drawn, width)


def _painted(blocks: Blocks, width: int) -> Text:
    return Text("\n").join(drawn_lines(blocks, width))


LONGEST_SHOWN = 60
"""Characters of the current piece that stand above what is said of it."""


def _writing(trace: RenderTrace, piece: PromptPiece) -> TraceStep | None:
    """Return the step in which an expression wrote a piece."""
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
    """Say why the render ended, where, and what the names there stood for."""
    if trace.failure is None:
        return Text()
    at = "" if trace.failure.line is None else f"line {trace.failure.line}: "
    drawn = prose(Text(f"{at}{visible(trace.failure.message)}", style="bold red"), indent=0)
    for each in trace.ended_in:
        label = f"line {trace.sites[each.site].line}"
        drawn += rows([(label, source_words(trace, each.site))], words=False, label=12)
        if each.seen:
            drawn += rows([("where", seen_words(each.seen))], label=12)
    return _painted(drawn, width)


def switched_text(
    trace: RenderTrace, others: Sequence[tuple[str, Json, RenderTrace]], width: int
) -> Text:
    """Draw what each value of each switch changes in the prompt of one conversation."""
    drawn: Blocks = []
    if not others:
        drawn += prose("No variable of this template changes a render.", indent=0)
    for name, value, other in others:
        words = Text(f"{visible(name)}={value_words(value)}", style="bold")
        if other.failure is not None:
            drawn += prose(sentence(words, (f"  {visible(str(other.failure))}", "red")))
        elif other.prompt == trace.prompt:
            drawn += prose(sentence(words, ("  changes nothing here", "dim")))
        else:
            drawn += prose(words)
            pieces = compare_texts(trace.prompt, other.prompt)
            origins = _origins(trace), _origins(other)
            drawn += difference(pieces, indent=2, origins=origins)
        drawn += blank()
    return _painted(drawn, width)


def beside_text(left: RenderTrace, right: RenderTrace, width: int) -> tuple[Text, Text]:
    """Draw two prompts for two panes of this width, what each has alone in color.

    Each line has the number of the template's line that wrote its beginning.
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
            drawn += _numbered(label, line, width)
            line, label = Text(), ""
    if line.plain:
        drawn += _numbered(label, line, width)
    return Text("\n").join(drawn)


def _styled_lines(pieces: Sequence[DifferencePiece], side: Side) -> Iterator[tuple[str, str]]:
    for piece in pieces:
        if piece.side in {Side.BOTH, side}:
            for line in _LINE.findall(piece.text):
                yield line, _SIDES.get(piece.side, "")


def _numbered(label: str, line: Text, width: int) -> Lines:
    parts = wrapped(line, max(width - 6, 10), words=False)
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
