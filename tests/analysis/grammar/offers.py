"""Tools to offer: those that the battery calls, and one with a schema of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_battery import loose_tools

BATTERY = loose_tools()

STRICT: tuple[Json, ...] = (
    *yaml.safe_load(Path(__file__).with_name("offers.yaml").read_text("utf-8")),
)


def tool(name: str, properties: Mapping[str, Json], *required: str, **said: Json) -> dict[str, Any]:
    """Offer a tool; `said` is what its function says beside its parameters."""
    parameters = {"type": "object", "properties": properties, "required": [*required]}
    return {"type": "function", "function": {"name": name, "parameters": parameters, **said}}


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
