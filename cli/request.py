"""What commands that take a request check of it, and warn of."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autoparser.analysis.errors import AutoparserError

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis

__all__ = ["check_choice", "warn_of"]

CHOICES = ("auto", "none", "required")


def check_choice(choice: str, tools: Sequence[object] | None) -> None:
    """Raise AutoparserError where the choice is none of the words and no tool's name."""
    if choice in CHOICES:
        return
    from autoparser.analysis.expression import request_of

    names = list(request_of(tools).tools or ())
    if choice in names:
        return
    close = get_close_matches(choice, [*CHOICES, *names], n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}? " if close else ""
    words = ", ".join(CHOICES)
    wanted = f"or a tool: {', '.join(names)}" if names else "or a tool of --tools"
    raise AutoparserError(
        f"the tool choice {choice!r} names no tool that is offered",
        hint=f"{advice}give {words}, {wanted}",
    )


def warn_of(
    source: str,
    prompt: Path | None,
    analysis: Analysis,
    asked: str | None,
    tools: Sequence[object] | None,
) -> None:
    """Say on standard error what may make the message wrong."""
    from autoparser.reports import prompt_warning

    check = analysis.check
    if not check.ok:
        typer.echo(
            f"{source}: warning: self-check {check.passed}/{check.total}, so the message may be"
            " wrong; see autoparser analyze",
            err=True,
        )
    if tools and analysis.format.calls is None:
        typer.echo(
            f"{source}: warning: this template writes no tool calls, so none is found", err=True
        )
    warning = None if asked is None else prompt_warning(analysis.format, asked)
    if warning is not None:
        typer.echo(f"{prompt}: warning: {warning}", err=True)
