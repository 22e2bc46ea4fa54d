"""Where Jinja's tokens stand in a template's text; its syntax tree knows lines alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jinja2 import TemplateSyntaxError as JinjaSyntaxError

from .environment import chat_environment

__all__ = ["TemplateToken", "template_tokens", "written_places"]


class TemplateToken(NamedTuple):
    """A token of a template, as Jinja's lexer names it, and its place in the text."""

    kind: str
    value: str
    start: int
    """Characters from the beginning of the text."""
    end: int


def template_tokens(text: str) -> tuple[TemplateToken, ...]:
    """Return the tokens of a template whose lines end in one newline.

    What whitespace control takes away between two tokens is in none. Of a text that Jinja cannot
    read, the tokens before the place where it stops are given.
    """
    return tuple(_tokens(text))


def _tokens(text: str) -> Iterator[TemplateToken]:
    end = 0
    try:
        for _, kind, value in chat_environment().lexer.tokeniter(text, None):
            start = text.find(value, end)
            if start < 0:
                return
            end = start + len(value)
            yield TemplateToken(kind, value, start, end)
    except JinjaSyntaxError:
        return


def written_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[int, int]]:
    """Return the places of what a template writes: its plain texts and `{{ … }}`, in their order.

    For example `Hi {{ name }}!` writes at (0, 3), (3, 13) and (13, 14).
    """
    begun = 0
    for token in tokens:
        if token.kind == "data":
            yield token.start, token.end
        elif token.kind == "variable_begin":
            begun = token.start
        elif token.kind == "variable_end":
            yield begun, token.end
