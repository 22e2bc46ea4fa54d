"""The self-check's verdict, and the smallest message on which it fails."""

from __future__ import annotations

import json

from rich.text import Text

from autoparser.analysis.check import Check, Failure

from .difference import compared, difference_lines
from .layout import Lines, blank, heading, joined, prose, rows
from .visible import visible

__all__ = ["failure_section", "verdict"]

FAILURES_NAMED = 12


def verdict(check: Check) -> Text:
    """Give the verdict as one phrase, such as ``self-check 44/44``."""
    return Text(
        f"self-check {check.passed}/{check.total}", style="bold green" if check.ok else "bold red"
    )


def failure_section(check: Check, width: int) -> Lines:
    """Show the smallest failing message, written against rendered; nothing where none fails."""
    smallest = check.smallest
    if smallest is None:
        return []
    named = [failure.title for failure in check.failures]
    message = visible(json.dumps(smallest.message.to_dict(), ensure_ascii=False))
    pairs = [
        ("failing", joined([Text(title) for title in named[:FAILURES_NAMED]], "; ")),
        ("smallest", Text(f"{smallest.title}: {visible(smallest.reason)}")),
        ("its message", Text(message)),
    ]
    left_out = len(named) - FAILURES_NAMED
    if left_out > 0:
        pairs[0][1].append(f"; and {left_out} more")
    return [
        *heading(f"Self-check: {check.passed} of {check.total} messages come out right", width),
        *rows(pairs, width),
        *blank(),
        *_difference(smallest, width),
    ]


def _difference(failure: Failure, width: int) -> Lines:
    if failure.rendered is None:
        return [
            *prose("the template raises on this message; the analysis would write:", width),
            *difference_lines(compared("", failure.written or ""), width),
        ]
    if failure.written is None:
        return [
            *prose("the analysis says that the template raises; it renders:", width),
            *difference_lines(compared(failure.rendered, ""), width),
        ]
    if failure.written == failure.rendered:
        return prose("the turn itself comes out alike", width)
    return [
        *prose("- what the template renders, + what the analysis would write", width),
        *difference_lines(compared(failure.rendered, failure.written), width),
    ]
