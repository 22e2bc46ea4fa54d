"""What ends a turn, with the whitespace that stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.core.alignment import common_suffix

from .layout import Part
from .literal import Literal
from .shape import TurnShape


def end_literals_of(format_: TurnShape) -> tuple[Literal, ...]:
    """Return the texts that end a turn, each with the whitespace between it and content."""
    found: dict[str, Literal] = {}
    for end in format_.ends:
        for text in (end.text, end.historic or ""):
            literal = Literal.of(text)
            if literal.core:
                found[literal.core] = literal
    for stop in format_.stop_strings:
        found.setdefault(stop, Literal.of(stop))
    behind = [
        layout.literals[-1]
        for layout in format_.layouts.values()
        if layout.parts[-1:] == (Part.CONTENT,)
    ]
    return tuple(replace(end, before=_space_before(end, behind)) for end in found.values())


def _space_before(end: Literal, texts: Sequence[str]) -> str:
    """Return the whitespace before the end of a turn, in the texts after its content."""
    befores = [text.partition(end.core)[0] for text in texts if end.core in text]
    if not befores:
        return ""
    shared = common_suffix(*befores)
    return shared[len(shared.rstrip()) :]
