"""Texts of a template as nodes: every whitespace and every hidden character by a sign."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.reports.visible import runs

from .element import Element, Node, h

__all__ = ["inline", "literal", "shown", "whole"]

_SPACE = "␣"
_NEWLINE = "↵"


def shown(text: str, *, breaks: bool = True) -> Iterator[Node]:
    """Return a text with its signs; `breaks` begins a new line after each newline's sign."""
    for run, sign in runs(text):
        if not sign:
            yield run
        else:
            yield h("span", run, class_="sign")
            if breaks and run == _NEWLINE:
                yield "\n"


def literal(text: str, *, breaks: bool = True) -> Element:
    """Return what a template writes itself: a core, and apart from it the whitespace around it."""
    core = text.strip()
    if not core:
        return h("span", _edge(text, breaks=breaks), class_="lit")
    start = text.index(core)
    before, after = text[:start], text[start + len(core) :]
    return h(
        "span",
        _edge(before, breaks=breaks),
        h("b", shown(core, breaks=breaks)),
        _edge(after, breaks=breaks),
        class_="lit",
    )


def _edge(text: str, *, breaks: bool) -> Element | None:
    if not text:
        return None
    return h("i", shown(text.replace(" ", _SPACE), breaks=breaks), class_="edge")


def inline(text: str) -> Element:
    """Return a literal inside a sentence or a table, on one line."""
    return h("code", literal(text, breaks=False))


def whole(text: str, label: str) -> Element:
    """Return a long text in a box of its own that scrolls and can be reached by the keyboard."""
    # A generated text of many lines: its newlines break lines, and need no sign.
    lines = "\n".join(text.split("\n"))
    return h("pre", lines, class_="whole", tabindex="0", role="group", aria_label=label)
