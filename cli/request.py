"""The request that commands take by options: read, checked, and what they warn of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoparser.analysis.core.errors import AutoparserError, suggest

from .inputs import read_prompt, read_schema, read_tools
from .output import warn
from .switches import read_switches, warn_of_settings

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.core.conversation import Tool
    from autoparser.analysis.formats.saved_format import SavedFormat
    from autoparser.analysis.grammar.schema_loosening import Loosening
    from autoparser.analysis.parsing.turn_request import RequestOptions

__all__ = ["AskedRequest", "read_request", "warn_of", "warn_of_loosened"]

CHOICES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """A request as options name it, its files read."""

    tools: Sequence[Tool] | None
    tool_choice: str
    parallel: bool
    json_schema: Mapping[str, Any] | None
    prompt_file: Path | None
    prompt: str | None
    switches: Mapping[str, object]

    @property
    def setting(self) -> Mapping[str, object] | None:
        """The values of switches; None where none is set, so that the prompt tells."""
        return self.switches or None

    @property
    def options(self) -> RequestOptions:
        """What it says beside tools and switches, for a parser or a grammar."""
        return {
            "prompt": self.prompt,
            "tool_choice": self.tool_choice,
            "parallel_tool_calls": self.parallel,
            "json_schema": self.json_schema,
        }


def read_request(
    tools: Path | None,
    tool_choice: str,
    json_schema: Path | None,
    prompt: Path | None,
    switches: Sequence[str] | None,
    *,
    parallel: bool,
) -> AskedRequest:
    """Read what the options of a request name. Raises AutoparserError for what is not valid."""
    offered = None if tools is None else read_tools(tools)
    _check_choice(tool_choice, offered)
    return AskedRequest(
        tools=offered,
        tool_choice=tool_choice,
        parallel=parallel,
        json_schema=None if json_schema is None else read_schema(json_schema),
        prompt_file=prompt,
        prompt=None if prompt is None else read_prompt(prompt),
        switches=read_switches(switches or []),
    )


def _check_choice(choice: str, tools: Sequence[object] | None) -> None:
    """Raise AutoparserError where the choice is none of the words and no tool's name."""
    if choice in CHOICES:
        return
    from autoparser.analysis.parsing.turn_request import request_of

    names = list(request_of(tools).tools or ())
    if choice in names:
        return
    words = ", ".join(CHOICES)
    wanted = f"or a tool: {', '.join(names)}" if names else "or a tool of --tools"
    raise AutoparserError(
        f"the tool choice {choice!r} names no tool that is offered",
        hint=suggest(choice, [*CHOICES, *names], f"give {words}, {wanted}"),
    )


def warn_of(source: str, analysis: Analysis | SavedFormat, request: AskedRequest) -> None:
    """Say on standard error what may make the message wrong."""
    check = analysis.check
    if not check.ok:
        from autoparser.reports import check_doubt

        warn(source, check_doubt(check, "the message may be wrong"))
    if request.tools and all(each.calls is None for each in analysis.formats):
        warn(source, "this template writes no tool calls, so none is found")
    if request.prompt is not None:
        from autoparser.reports import prompt_warning

        warning = prompt_warning(analysis.formats, request.prompt)
        if warning is not None:
            warn(request.prompt_file, warning)
    warn_of_settings(source, analysis, request.switches)


def warn_of_loosened(source: str, loosened: Iterable[Loosening]) -> None:
    """Say on standard error what a grammar is not held to."""
    for each in loosened:
        warn(source, str(each))
