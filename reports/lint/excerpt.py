"""The template's line that a finding is about."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from autoparser.reports.blocks import Blocks, Fitted, excerpt, sentence
from autoparser.reports.places import lines_of
from autoparser.reports.visible import shown

__all__ = ["excerpt_lines"]


def excerpt_lines(text: str, line: int | None, indent: int) -> Blocks:
    """Draw a line (from 1) after its number, cut at the width; nothing where there is none."""
    lines = lines_of(text)
    if line is None or not 1 <= line <= len(lines):
        return []
    number = f"{' ' * indent}{line} | "
    content = Text(shown(lines[line - 1].strip()), style="cyan")

    def cut_at(width: int) -> Blocks:
        room = max(width - cell_len(number) - 1, 10)
        kept = content.copy()
        kept.truncate(room, overflow="crop")
        more = "…" if content.cell_len > room else ""
        return excerpt([sentence((number, "dim"), kept, (more, "dim"))], broken=False)

    return [Fitted(cut_at)]
