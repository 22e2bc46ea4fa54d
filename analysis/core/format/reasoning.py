"""What opens and closes reasoning, in every turn and every generation prompt that has it."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.alignment import common_prefix, common_suffix, first_marker
from autoparser.analysis.core.conversation import Presence

from .layout import Layout, Part
from .literal import Block, Literal
from .shape import TurnShape


def reasoning_of(format_: TurnShape) -> Block | None:
    """Find what opens and closes reasoning; None where nothing of the format does."""
    befores, afters = _neighbours(format_)
    if not befores:
        close = Literal.of(format_.reasoning_close or format_.reasoning_cut or "")
        if not close.core:
            return None
        emptied = _emptied(format_, close)
        named = Literal.of(format_.reasoning_open)
        return Block(named, replace(close, after=emptied or close.after), empty=emptied)
    opening = common_suffix(*befores) or format_.reasoning_open
    shared = common_prefix(*afters)
    mark = format_.header_mark
    # A header that is written again opens the next part.
    shared = first_marker(shared.partition(mark)[0] if mark else shared)
    close = _before_content(format_, Literal.of(shared))
    return Block(
        Literal.of(opening),
        close,
        leads=not opening.strip() and bool(shared.strip()),
        empty=_emptied(format_, close),
    )


def _emptied(format_: TurnShape, close: Literal) -> str | None:
    """Return the whitespace between an empty block and content; None where none is written."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (Part.CONTENT,) or not close.core:
        return None
    _, closed, behind = layout.literals[0].partition(close.core)
    return behind[: len(behind) - len(behind.lstrip())] if closed else None


def _before_content(format_: TurnShape, close: Literal) -> Literal:
    """Return the close with the whitespace that it has before content."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if layout is None or layout.parts[:2] != (Part.REASONING, Part.CONTENT) or not close.core:
        return close
    behind = layout.literals[1].partition(close.core)[2]
    return replace(close, after=behind[: len(behind) - len(behind.lstrip())])


def _neighbours(format_: TurnShape) -> tuple[list[str], list[str]]:
    """Collect the literals before and after reasoning; the header is left out."""
    befores: list[str] = []
    afters: list[str] = []
    for layout in format_.layouts.values():
        for at, part in enumerate(layout.parts):
            if part is Part.REASONING:
                before = layout.literals[at]
                befores.append(before.removeprefix(format_.header) if at == 0 else before)
                afters.append(_behind(format_, layout, at))
    return befores, afters


def _behind(format_: TurnShape, layout: Layout, at: int) -> str:
    """Return what is written after a part, up to the next text."""
    text = layout.literals[at + 1]
    calls = format_.calls
    if calls is not None and layout.parts[at + 1 : at + 2] == (Part.CALLS,):
        text += calls.opening
    return text
