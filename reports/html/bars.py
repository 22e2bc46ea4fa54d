"""Bars and columns as inline SVG; widths are percents, so that text keeps its size on any page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .element import Element, h

__all__ = ["BarPiece", "Column", "bar", "columns"]

BAR = 16
"""Pixels."""
COLUMNS = 140
BASE = 22
"""Pixels below the columns, for their names."""
TOP = 16


@dataclass(frozen=True, slots=True)
class BarPiece:
    """A stretch of a bar."""

    size: float
    kind: str
    """Its class: what it looks like."""
    label: str = ""


def bar(pieces: Sequence[BarPiece], whole: float, words: str) -> Element:
    """Draw pieces side by side; `whole` is what the full width stands for."""
    return h(
        "svg",
        h("title", words),
        list(_stretches(pieces, max(whole, 1))),
        class_="bar",
        role="img",
        aria_label=words,
        width="100%",
        height=BAR,
    )


def _stretches(pieces: Sequence[BarPiece], whole: float) -> Iterator[Element]:
    at = 0.0
    for piece in pieces:
        yield h(
            "rect",
            h("title", piece.label) if piece.label else None,
            x=f"{100 * at / whole:.3f}%",
            y="0",
            width=f"{100 * piece.size / whole:.3f}%",
            height=BAR,
            class_=piece.kind,
        )
        at += piece.size


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a distribution."""

    name: str
    size: int


def columns(given: Sequence[Column], words: str) -> Element:
    """Draw columns with their names below and their sizes above them."""
    most = max((column.size for column in given), default=1) or 1
    return h(
        "svg",
        h("title", words),
        [node for at, column in enumerate(given) for node in _column(column, at, len(given), most)],
        class_="columns",
        role="img",
        aria_label=words,
        width="100%",
        height=TOP + COLUMNS + BASE,
    )


def _column(column: Column, at: int, count: int, most: int) -> Iterator[Element]:
    height = COLUMNS * column.size / most
    middle = f"{100 * (at + 0.5) / count:.3f}%"
    if column.size:
        yield h(
            "rect",
            x=f"{100 * (at + 0.1) / count:.3f}%",
            y=f"{TOP + COLUMNS - height:.1f}",
            width=f"{80 / count:.3f}%",
            height=f"{max(height, 1):.1f}",
            class_="column",
        )
        yield h(
            "text",
            str(column.size),
            x=middle,
            y=f"{TOP + COLUMNS - height - 4:.1f}",
            text_anchor="middle",
            class_="size",
        )
    yield h("text", column.name, x=middle, y=TOP + COLUMNS + 16, text_anchor="middle")
