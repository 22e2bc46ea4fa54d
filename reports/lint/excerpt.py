"""The template's line that a finding is about."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from autoparser.reports.layout import Lines, wrapped
from autoparser.reports.places import lines_of
from autoparser.reports.visible import shown

__all__ = ["excerpt_lines"]


def excerpt_lines(text: str, line: int | None, width: int, indent: int) -> Lines:
    """Draw a line (from 1) after its number, cut at `width`; nothing where there is none."""
    lines = lines_of(text)
    if line is None or not 1 <= line <= len(lines):
        return []
    number = f"{' ' * indent}{line} | "
    content = Text(shown(lines[line - 1].strip()), style="cyan")
    room = max(width - cell_len(number) - 1, 10)
    cut = wrapped(content, room, words=False)
    drawn = Text.assemble((number, "dim"), cut[0] if cut else Text())
    if len(cut) > 1:
        drawn.append("…", style="dim")
    return [drawn]
