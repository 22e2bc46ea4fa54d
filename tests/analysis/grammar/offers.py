"""Tools to offer: those that the battery calls, and one with a schema of every kind."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_battery import loose_tools

BATTERY = loose_tools()

STRICT: tuple[Json, ...] = (
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "detailed": {"type": "boolean"},
                },
                "required": ["city", "unit"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "book_room",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string"},
                    "price": {"type": "number"},
                    "note": {"type": ["string", "null"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "guest": {"$ref": "#/$defs/guest"},
                },
                "required": ["guest"],
                "additionalProperties": False,
                "$defs": {
                    "guest": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "since": {"type": "integer"},
                            "friends": {"type": "array", "items": {"$ref": "#/$defs/guest"}},
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    }
                },
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "list_rooms",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    },
)


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
