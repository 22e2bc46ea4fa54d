"""Elements of a page: every text in them is escaped, and no attribute leaves the page.

Contract: what is rendered holds no character that hides, moves a cursor or changes the writing
direction, and no address but those of places in the page itself and of pages that lie beside it,
wherever the texts came from.

Why not ``htpy`` 26.5.1 or ``dominate`` 2.9.1: both escape the signs of markup and nothing else, so
hidden characters, addresses and ``onclick`` get through; what holds them back is most of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from autoparser.reports.visible import visible, xml_text

__all__ = ["Element", "Node", "fragment", "h", "markup"]


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes and what is inside; no tag: only what is inside."""

    tag: str
    attributes: tuple[tuple[str, str | None], ...] = ()
    """An attribute without a value is None."""
    children: tuple[Node, ...] = ()


Node: TypeAlias = "Element | str"

_EMPTY = frozenset({"br", "col", "hr", "input", "link", "meta"})
_ADDRESSES = frozenset({"href", "src", "action", "formaction", "xlink:href"})
_OWN_ICON = "data:,"
"""An empty icon, so that no browser asks for one."""
_BESIDE = re.compile(r"[a-z0-9][a-z0-9-]*\.html")
"""A page in the same folder: no other folder, scheme or host can be named in these signs."""


def h(
    tag: str, *children: Node | Iterable[Node] | None, **attributes: str | float | bool | None
) -> Element:
    """Make an element; None among the children is nothing.

    Attributes are written with `_` for `-`, and `class_` for the class; True has no value, None
    and False leave it out. Raises ValueError for an address that is neither in the page nor that of
    a page beside it.
    """
    named = [
        (name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    for name, value in named:
        if name.startswith("on") or name == "style":
            raise ValueError(f"pages have no attribute {name}")
        if name in _ADDRESSES and not _stays(name, str(value)):
            raise ValueError(f"{name} leads out of the page: {value!r}")
    written = tuple((name, None if value is True else _number(value)) for name, value in named)
    return Element(tag, written, tuple(_flat(children)))


def _stays(name: str, address: str) -> bool:
    beside = name == "href" and _BESIDE.fullmatch(address) is not None
    return beside or address.startswith("#") or address == _OWN_ICON


def fragment(*children: Node | Iterable[Node] | None) -> Element:
    """Put nodes together without an element around them."""
    return Element("", (), tuple(_flat(children)))


def _number(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _flat(children: Iterable[Node | Iterable[Node] | None]) -> Iterator[Node]:
    for child in children:
        if isinstance(child, Element | str):
            yield child
        elif child is not None:
            yield from child


def markup(node: Node) -> str:
    """Write a node as HTML."""
    return "".join(_pieces(node))


def _pieces(node: Node) -> Iterator[str]:
    if isinstance(node, str):
        yield xml_text(node)
        return
    if node.tag:
        written = "".join(
            f" {name}" if value is None else f' {name}="{escape(visible(value))}"'
            for name, value in node.attributes
        )
        yield f"<{node.tag}{written}>"
    for child in node.children:
        yield from _pieces(child)
    if node.tag and node.tag not in _EMPTY:
        yield f"</{node.tag}>"
