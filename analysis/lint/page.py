"""A rule's page, read from its module's docstring."""

from __future__ import annotations

import inspect
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """What a person reads about a rule."""

    summary: str
    """What is wrong, without a full stop."""
    why: str
    """Why it matters: paragraphs, of text only."""
    before: str
    """A piece of template that has it."""
    after: str
    """The same piece, fixed."""


def page_of(doc: str) -> Page:
    """Read a docstring: summary, paragraphs, and blocks after ``Before:`` and ``After:``."""
    text = inspect.cleandoc(doc)
    summary, _, rest = text.partition("\n")
    why, _, examples = rest.partition("\nBefore:\n")
    before, _, after = examples.partition("\nAfter:\n")
    return Page(
        summary.strip().rstrip("."),
        why.strip(),
        inspect.cleandoc("\n" + before).strip("\n"),
        inspect.cleandoc("\n" + after).strip("\n"),
    )
