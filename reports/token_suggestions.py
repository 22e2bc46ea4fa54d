"""What a tokenizer's added tokens suggest of a model that its template does not show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Row
from .visible import visible

__all__ = ["unwritten_rows", "unwritten_words"]

SHOWN = 4
"""So many tokens are shown, the others counted."""


def unwritten_rows(learnt: LearntFormat, tokens: Sequence[str]) -> Iterator[Row]:
    """Return the row of tokens that no render writes; nothing without any."""
    if tokens:
        yield "Tokens", Text(unwritten_words(learnt.template.origin or "-", tokens))


def unwritten_words(source: str, tokens: Sequence[str]) -> str:
    """Say which tokens no render writes, and what to do if the model writes them."""
    names = ", ".join(visible(token) for token in tokens[:SHOWN])
    more = len(tokens) - SHOWN
    rest = f" and {more} more added tokens" if more > 0 else ""
    command = f"autoparser learn {shlex.quote(visible(source))} --examples FILE"
    return f"no render writes {names}{rest}; if the model does, one example tells it: {command}"
