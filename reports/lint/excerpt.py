"""The template's line that a finding is about."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from autoparser.reports.layout import Lines
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
    cut = content.cell_len > room
    content.truncate(room, overflow="crop")
    return [Text.assemble((number, "dim"), content, ("…" if cut else "", "dim"))]
