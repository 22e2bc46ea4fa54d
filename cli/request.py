"""What commands that take a request check of it, and what they warn of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest

from .output import warn
from .switches import warn_of_settings

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.constraining.grammar import Loosening
    from autoparser.analysis.learnt import SavedFormat

__all__ = ["check_choice", "warn_of", "warn_of_loosened"]

CHOICES = ("auto", "none", "required")


def check_choice(choice: str, tools: Sequence[object] | None) -> None:
    """Raise AutoparserError where the choice is none of the words and no tool's name."""
    if choice in CHOICES:
        return
    from autoparser.analysis.reading.expression import request_of

    names = list(request_of(tools).tools or ())
    if choice in names:
        return
    words = ", ".join(CHOICES)
    wanted = f"or a tool: {', '.join(names)}" if names else "or a tool of --tools"
    raise AutoparserError(
        f"the tool choice {choice!r} names no tool that is offered",
        hint=suggest(choice, [*CHOICES, *names], f"give {words}, {wanted}"),
    )


def warn_of(
    source: str,
    prompt: Path | None,
    analysis: Analysis | SavedFormat,
    asked: str | None,
    tools: Sequence[object] | None,
    switches: Mapping[str, object],
) -> None:
    """Say on standard error what may make the message wrong."""
    check = analysis.check
    if not check.ok:
        from autoparser.reports import check_doubt

        warn(source, check_doubt(check, "the message may be wrong"))
    if tools and all(each.calls is None for each in analysis.formats):
        warn(source, "this template writes no tool calls, so none is found")
    if asked is not None:
        from autoparser.reports import prompt_warning

        warning = prompt_warning(analysis.formats, asked)
        if warning is not None:
            warn(prompt, warning)
    warn_of_settings(source, analysis, switches)


def warn_of_loosened(source: str, loosened: Iterable[Loosening]) -> None:
    """Say on standard error what a grammar is not held to."""
    for each in loosened:
        warn(source, str(each))
