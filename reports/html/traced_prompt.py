"""The template's source beside a prompt: each piece of that leads to the line that wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.templates.render_trace import PromptPiece, RenderTrace
from autoparser.reports.render_trace import line_words, source_words

from .element import Element, Node, fragment, h
from .page_parts import lead
from .signs import shown

__all__ = ["traced_prompt"]

_WIDTH = 4
"""Digits that numbers of lines have room for."""


def traced_prompt(trace: RenderTrace) -> Element:
    """Draw both; a pointer over a piece says its line, and a click goes there."""
    note = None if trace.failure is None else h("p", trace.failure.message, class_="note")
    return fragment(
        lead(
            "An invented conversation as this template renders it, piece by piece. A pointer over a"
            " piece says which line wrote it; a click marks that line. Lines that did nothing here"
            " are grey."
        ),
        note,
        h(
            "div",
            h(
                "pre",
                _source(trace),
                class_="whole lines",
                tabindex="0",
                role="group",
                aria_label="The template",
            ),
            h(
                "pre",
                [_piece(trace, piece) for piece in trace.pieces],
                class_="whole pieces",
                tabindex="0",
                role="group",
                aria_label="The prompt",
            ),
            class_="sides",
        ),
    )


def _source(trace: RenderTrace) -> Iterator[Node]:
    ran = {trace.sites[step.site].line for step in trace.steps}
    ran |= {trace.sites[piece.site].line for piece in trace.pieces if piece.site is not None}
    for number, line in enumerate(trace.text.split("\n"), 1):
        yield h(
            "span",
            h("b", f"{number:>{_WIDTH}} "),
            shown(line.expandtabs(4)),
            id=_anchor(number),
            class_=None if number in ran else "idle",
        )


def _piece(trace: RenderTrace, piece: PromptPiece) -> Node:
    if piece.site is None:
        return fragment(shown(piece.text))
    title = f"line {line_words(trace, piece)}: {source_words(trace, piece.site).plain}"
    line = trace.sites[piece.site].line
    return h("a", shown(piece.text), href=f"#{_anchor(line)}", title=title)


def _anchor(line: int) -> str:
    return f"line-{line}"
