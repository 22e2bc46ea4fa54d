"""Pieces of texts as messages of findings show them: short, quoted, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.errors import one_line

from .lint_renders import Render

LONGEST_QUOTE = 60
"""Characters of a quoted piece; what is longer is cut in the middle."""


def quoted(text: str) -> str:
    """Return a piece of text in quotes, its control characters as escapes."""
    if len(text) > LONGEST_QUOTE:
        kept = LONGEST_QUOTE // 2
        text = f"{text[:kept]}…{text[-kept:]}"
    return one_line(repr(text))


def failed(render: Render) -> str:
    """Say how a render failed: that the template refuses, or what Jinja raised."""
    error = render.error
    if error is None:
        return "renders"
    reason = one_line(error.reason, 2 * LONGEST_QUOTE).rstrip(".")
    return f"is refused: {reason!r}" if error.refused else f"fails: {reason}"


def quoted_reasons(reason: str) -> tuple[str, ...]:
    """Return an exception's words in every form that messages quote them in."""
    whole, short = one_line(reason).rstrip("."), one_line(reason, 2 * LONGEST_QUOTE).rstrip(".")
    return whole, repr(short), short


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
