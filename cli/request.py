"""The options of commands that take a request, and what they check of it and warn of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from autoparser.analysis.errors import AutoparserError

from .output import warn

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.conversation import Json

__all__ = [
    "NoParallelOption",
    "PromptOption",
    "PromptSwitchOption",
    "ToolChoiceOption",
    "check_choice",
    "prompt_of",
    "switch_of",
    "warn_of",
]

PromptOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The rendered prompt or its tail; else the template's default prompt.",
    ),
]
PromptSwitchOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="The prompt with this switch of the template."),
]
ToolChoiceOption = Annotated[
    str, typer.Option(metavar="CHOICE", help="auto, none, required, or the name of a tool.")
]
NoParallelOption = Annotated[
    bool, typer.Option("--no-parallel", help="The request allows one call only.")
]

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


def prompt_of(analysis: Analysis, prompt: str | None, switches: Sequence[str]) -> str | None:
    """Give the prompt: the one that was given, or the template's under its switches.

    Raises AutoparserError for both, and for switches that the template's prompt does not have.
    """
    if not switches:
        return prompt
    if prompt is not None:
        raise AutoparserError(
            "--switch says which prompt the template writes, and --prompt gives one",
            hint="give one of them",
        )
    wanted = dict(map(switch_of, switches))
    openings = [opening for opening in analysis.format.openings if opening.setting]
    for opening in openings:
        if dict(opening.setting) == wanted:
            return opening.text
    known = [
        " ".join(f"{name}={json.dumps(value)}" for name, value in opening.setting.items())
        for opening in openings
    ]
    raise AutoparserError(
        f"the template's prompt has no such setting: {' '.join(switches)}",
        hint=f"its settings are: {', '.join(known)}" if known else "its prompt is always the same",
    )


def switch_of(given: str) -> tuple[str, Json]:
    """Read NAME=VALUE, the value as JSON, else as a text. Raises AutoparserError."""
    name, separator, text = given.partition("=")
    if not separator or not name.isidentifier():
        raise AutoparserError(
            f"--switch {given!r} sets nothing", hint="give NAME=VALUE, such as enable_thinking=true"
        )
    try:
        return name, cast("Json", json.loads(text))
    except ValueError:
        return name, text


def warn_of(
    source: str,
    prompt: Path | None,
    analysis: Analysis,
    asked: str | None,
    tools: Sequence[object] | None,
) -> None:
    """Say on standard error what may make the message wrong."""
    from autoparser.reports import check_doubt, prompt_warning

    check = analysis.check
    if not check.ok:
        warn(source, check_doubt(check, "the message may be wrong"))
    if tools and analysis.format.calls is None:
        warn(source, "this template writes no tool calls, so none is found")
    warning = None if asked is None else prompt_warning(analysis.format, asked)
    if warning is not None:
        warn(prompt, warning)
