"""Pieces that several sections have: tables, definitions, boxes that open, words of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .element import Element, Node, fragment, h

__all__ = ["badge", "definitions", "lead", "opening", "table"]

Cell = Node


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], class_: str = ""
) -> Element:
    """Make a table whose first column names its rows; on a narrow page its cells are stacked."""
    return h(
        "table",
        h("caption", caption, class_="unseen"),
        h("thead", h("tr", [h("th", head, scope="col") for head in heads])),
        h("tbody", [_row(heads, cells) for cells in rows]),
        class_=class_ or None,
    )


def _row(heads: Sequence[str], cells: Sequence[Cell]) -> Element:
    first, *others = cells
    return h(
        "tr",
        h("th", first, scope="row"),
        [
            h("td", h("div", cell), data_head=head)
            for head, cell in zip(heads[1:], others, strict=True)
        ],
    )


def definitions(pairs: Iterable[tuple[Node, Node]], class_: str = "") -> Element:
    """Make a list of names and what they stand for."""
    rows = [h("div", h("dt", name), h("dd", text)) for name, text in pairs]
    return h("dl", rows, class_=class_ or None)


def opening(summary: Node, *inside: Node, open_: bool = False, printed: bool = True) -> Element:
    """Make a box that a click or a key opens; `printed` opens it on paper, too."""
    box = h("div", inside)
    return h(
        "details", h("summary", summary), box, open=open_, class_="printed" if printed else None
    )


def badge(words: str, kind: str) -> Element:
    """Return a verdict in a word; `kind` is good, bad, doubt or plain."""
    return h("span", words, class_=f"badge {kind}")


def lead(*words: Node) -> Element:
    """Return the sentence below a heading."""
    return h("p", fragment(words), class_="lead")
