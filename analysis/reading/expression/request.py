"""What a caller asks for: the tools offered, the choice among them, the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from autoparser.analysis.core.conversation import Json, function_of
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import Begun

from .nodes import Start


class RequestError(AutoparserError):
    """The tools, the tool choice or the prompt of a request are not what they should be."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, its tools reduced to names and schemas."""

    tools: Mapping[str, Json] | None = None
    """Parameters' JSON schema by function name; None: any function may be called."""
    calls: bool = True
    """Whether calls may be written at all."""
    parallel: bool = True
    json: bool = False
    """Whether the answer is JSON."""
    prompt: str | None = None
    begun: Begun | None = None
    """What the prompt belongs to, where the caller said what was set; None: the prompt tells."""
    start: Start | None = field(default=None)
    required: bool = False
    """Whether a call has to be written."""


class RequestOptions(TypedDict, total=False):
    """What a request says beside its tools; what is left out is as in `request_of`."""

    prompt: str | None
    """The rendered prompt, or any tail of it that holds the generation prompt; None stands for the
    template's default one."""
    tool_choice: object
    """OpenAI's: "auto", "none", "required", a tool's name, or an object that names it."""
    parallel_tool_calls: bool
    """Whether more than one call counts."""
    json_schema: Mapping[str, Any] | None
    """What the answer has to be, where it is JSON."""


def request_of(
    tools: Sequence[object] | None = None,
    *,
    prompt: str | None = None,
    begun: Begun | None = None,
    tool_choice: object = "auto",
    parallel_tool_calls: bool = True,
    json_schema: Mapping[str, object] | None = None,
) -> Request:
    """Read a request in OpenAI's words. Raises RequestError for tools that are not valid tools.

    Where a schema for the answer is given and no tools are, nothing in the answer is a call.
    """
    offered = None if tools is None else dict(map(_tool, range(len(tools)), tools))
    chosen = _chosen(tool_choice, offered)
    if chosen is not None and offered is not None:
        offered = {chosen: offered[chosen]}
    return Request(
        tools=offered,
        calls=tool_choice != "none"
        and offered != {}
        and (json_schema is None or tools is not None),
        parallel=parallel_tool_calls,
        json=json_schema is not None,
        prompt=prompt,
        begun=begun,
        required=tool_choice == "required" or chosen is not None,
    )


def _tool(at: int, tool: object) -> tuple[str, Json]:
    function = function_of(tool)
    name = None if function is None else function.get("name")
    if function is None or not isinstance(name, str) or not name:
        raise RequestError(
            "this is not a valid tool",
            place=f"tools[{at}]",
            hint='give {"type": "function", "function": {"name": …, "parameters": …}}',
        )
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, Mapping | bool):
        raise RequestError(
            f"the parameters of {name} are not a valid JSON schema",
            place=f"tools[{at}]",
            hint='give an object such as {"type": "object", "properties": …}',
        )
    schema: Json = function.get("parameters")
    return name, None if isinstance(schema, bool) else schema


_CHOICES = ("auto", "none", "required")


def _chosen(tool_choice: object, offered: Mapping[str, Json] | None) -> str | None:
    """Name the one tool that is chosen; None where the model chooses."""
    function = function_of(tool_choice)
    if function is not None:
        tool_choice = function.get("name", tool_choice)
    elif tool_choice in _CHOICES:
        return None
    if not isinstance(tool_choice, str) or (offered is not None and tool_choice not in offered):
        names = ", ".join(offered or ()) or "none"
        raise RequestError(
            f"the tool choice {tool_choice!r} names no tool that is offered",
            hint=f"give auto, none, required or one of the tools: {names}",
        )
    return tool_choice
