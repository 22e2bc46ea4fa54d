"""Tools to offer: those that the battery calls, and one with a schema of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_battery import loose_tools
from tests.case_tables import load_cases

BATTERY = loose_tools()

STRICT: tuple[Json, ...] = tuple(load_cases(__file__, "offers.yaml"))


def tool(
    name: str, properties: Mapping[str, object], *required: str, closed: bool = False, **more: Json
) -> dict[str, Any]:
    """Return a tool in OpenAI form; `more` are other fields of its function.

    `closed`: and no other properties are allowed.
    """
    parameters: dict[str, object] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = [*required]
    if closed:
        parameters["additionalProperties"] = False
    function = {"name": name, "description": "Looks something up in one of the tables."}
    return {"type": "function", "function": {**function, **more, "parameters": parameters}}


def offered(count: int) -> tuple[Json, ...]:
    """Offer so many tools: those that the battery calls, then others, many alike but in name."""
    known = [*BATTERY, *STRICT]
    others = (
        _renamed(STRICT[at % len(STRICT)], f"_{at // len(STRICT) + 2}") for at in range(count)
    )
    return tuple([*known, *others][:count])


def _renamed(tool: Json, suffix: str) -> Json:
    """Name a tool so that its old name begins the new one."""
    assert isinstance(tool, dict)
    function = tool["function"]
    assert isinstance(function, dict)
    return {**tool, "function": {**function, "name": f"{function['name']}{suffix}"}}
