"""The comments of a template, which Jinja leaves out of every render."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import TemplateSyntaxError as JinjaSyntaxError

from .environment import chat_environment

__all__ = ["comments"]


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Return each comment with the line (from 1) on which it begins.

    What only looks like a comment, within ``raw`` or a string, is none. Of a text that Jinja
    cannot read, the comments before the place where it stops are given.
    """
    try:
        for line, kind, value in chat_environment().lexer.tokeniter(text, None):
            if kind == "comment":
                yield line, value
    except JinjaSyntaxError:
        return
