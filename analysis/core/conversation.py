"""Conversations as plain values: messages, calls and results, as formats write them, and tools.

For example, a user asks, the assistant calls a tool, and the tool answers:

    >>> call = ToolCall("get_forecast", {"city": "Oslo"}, "aB3dE6gH1")
    >>> turn = Message(calls=(call,))
    >>> result = ToolResult('{"sky": "clear"}', call.name, call.id)
    >>> dialogue = (UserMessage("What is the weather in Oslo?"), turn, result)
    >>> str(turn.presence)
    'calls'

`MessageShape` gives them the field names that a template expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from .error_words import is_mapping

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:
    # msgspec reads and writes classes with such fields, and lacks recursive types.
    Json = Any


class Presence(NamedTuple):
    """Which parts an assistant message has; a template has one layout for each combination."""

    reasoning: bool = False
    """Whether its reasoning is not empty: `True` for `Message(reasoning="A lookup is due.")`."""
    content: bool = False
    """Whether its content is not empty: `True` for `Message("Here is what I found.")`."""
    calls: bool = False
    """Whether it has calls: `True` for 1 call or more."""

    def __str__(self) -> str:
        """Name the parts, as reports print them."""
        return " + ".join(name for name, there in self._asdict().items() if there) or "nothing"


class ToolCall(Struct, frozen=True):
    """A tool call with decoded arguments, e.g. `ToolCall("get_forecast", {"city": "Oslo"})`."""

    name: str
    """The function's name, e.g. `"get_forecast"`."""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The arguments by name, e.g. `{"city": "Oslo", "days": 3}`."""
    id: str = ""
    """The id for the tool's result, e.g. `"aB3dE6gH1"`; empty without one."""


class Message(Struct, frozen=True):
    """An assistant message, e.g. `Message("Hi.", reasoning="Hm.")`; an empty text is absent."""

    content: str = ""
    """The answer for the user, e.g. `"Here is what I found."`."""
    reasoning: str = ""
    r"""The thoughts before it, e.g. `"The user wants facts.\nA lookup is due."`."""
    calls: tuple[ToolCall, ...] = ()
    """The tool calls in their order, such as
    `(ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "aB3dE6gH1"),)`."""

    @property
    def presence(self) -> Presence:
        """Which parts the message has."""
        return Presence(bool(self.reasoning), bool(self.content), bool(self.calls))

    def to_dict(self) -> dict[str, Json]:
        """Return the message as reports show it: only the parts that are not empty."""
        parts: dict[str, Json] = {}
        if self.reasoning:
            parts["reasoning"] = self.reasoning
        if self.content:
            parts["content"] = self.content
        if self.calls:
            parts["calls"] = [
                {"name": call.name, "arguments": dict(call.arguments), "id": call.id}
                for call in self.calls
            ]
        return parts


class MediaKind(StrEnum):
    """The kinds of content parts that are not text."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"


class UserMessage(Struct, frozen=True):
    """One user message."""

    text: str
    """The user's words, such as `"What is the weather in Oslo?"`."""
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds before the text, such as `(MediaKind.IMAGE,)`."""


class ToolResult(Struct, frozen=True):
    """One tool result: the answer to the call with this id."""

    text: str
    """The result's text, such as `'{"sky": "clear"}'`."""
    name: str
    """The name of the function that was called, such as `"get_forecast"`."""
    call_id: str
    """The id of the call, such as `"aB3dE6gH1"`."""
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds before the text, such as `(MediaKind.IMAGE,)`."""


Entry: TypeAlias = UserMessage | Message | ToolResult
Dialogue: TypeAlias = tuple[Entry, ...]


Tool: TypeAlias = dict[str, Json]


FOREIGN_SCHEMAS = ("inputSchema", "input_schema")
"""The key of a tool's schema in MCP and in Anthropic's API; in OpenAI's it is `parameters`."""


def tool_function(tool: object) -> Any:
    """Return a tool's function, in OpenAI's wrapper or bare, or None if it is not an object.

    Tools of MCP and of Anthropic's API get the keys of OpenAI's:

        >>> tool_function({"name": "find", "input_schema": {"type": "object"}})
        {'name': 'find', 'parameters': {'type': 'object'}}
    """
    # A bare tool is its own function.
    function = tool.get("function", tool) if is_mapping(tool) else None
    if not is_mapping(function):
        return None
    if "parameters" not in function:
        for key in FOREIGN_SCHEMAS:
            if key in function:
                # OpenAI's form has no place for other keys, such as MCP's `annotations`.
                kept = {name: function[name] for name in _NAMING if name in function}
                return {**kept, "parameters": function[key]}
    return function


_NAMING = ("name", "description", "strict")


def openai_tool(tool: Any) -> Any:
    """Return a tool of MCP or of Anthropic's API in OpenAI's form, and any other unchanged."""
    function = tool_function(tool)
    # `tool_function` returns a new mapping only if it moved the keys.
    given = function is None or function is tool or function is tool.get("function")
    return tool if given else {"type": "function", "function": function}


def with_properties(tool: Tool, change: Callable[[str, Any], Json], **more: Json) -> Tool:
    """Return a tool with changed properties, and with the keywords of `more` in its parameters."""
    parameters: Any = tool["parameters"]
    changed = {key: change(key, schema) for key, schema in parameters["properties"].items()}
    return {**tool, "parameters": {**parameters, "properties": changed, **more}}


def tool_for(name: str, description: str, properties: Mapping[str, str]) -> Tool:
    """Return a function whose parameters are `properties`: JSON type by name.

    It is the inner object; `MessageShape.tool` adds the wrapper if a template expects it.
    """
    typed: dict[str, Json] = {}
    for key, kind in properties.items():
        schema: dict[str, Json] = {"type": kind, "description": description}
        if kind == "array":
            schema["items"] = {"type": "string"}
        elif kind == "object":
            schema["additionalProperties"] = {"type": "string"}
        typed[key] = schema
    required: list[Json] = list(properties)
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": typed, "required": required},
    }
