"""Tools to offer: a template may look a call's name and arguments up in their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from .message import Json

Tool: TypeAlias = dict[str, Json]


def function_of(tool: Mapping[str, Any]) -> Any:
    """Return what a tool says of its function, within OpenAI's wrapper or without it."""
    return tool.get("function", tool)


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
