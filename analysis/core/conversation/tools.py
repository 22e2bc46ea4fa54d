"""Tools to offer: a template may look a call's name and arguments up in their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from autoparser.analysis.core.value_kind import is_mapping

from .message import Json

Tool: TypeAlias = dict[str, Json]


def function_of(tool: object) -> Any:
    """Return what a tool says of its function, in OpenAI's wrapper or bare; None: no object."""
    function = tool.get("function", tool) if is_mapping(tool) else None
    return function if is_mapping(function) else None


def with_properties(tool: Tool, change: Callable[[str, Any], Json], **more: Json) -> Tool:
    """Return a function whose properties are changed, and what `more` says of its parameters."""
    parameters: Any = tool["parameters"]
    changed = {key: change(key, schema) for key, schema in parameters["properties"].items()}
    return {**tool, "parameters": {**parameters, "properties": changed, **more}}


def tool_for(name: str, description: str, properties: Mapping[str, str]) -> Tool:
    """Describe a function whose parameters are `properties`: JSON type by name.

    The inner function object is given; the wrapper around it is a matter of shape.
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
