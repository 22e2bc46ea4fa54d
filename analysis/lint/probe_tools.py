"""Tools for the conversations that rules render."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json, Tool, tool_for
from autoparser.analysis.core.format import JsonType
from autoparser.analysis.inference.probing import Sentinels


def functions_for(marks: Sentinels) -> tuple[Tool, ...]:
    """Return three functions; each takes the string arguments and one of every type."""
    properties = dict.fromkeys(marks.keys, "string")
    properties |= {
        key: str(kind) for kind, key in marks.typed_keys.items() if kind is not JsonType.NULL
    }
    return tuple(tool_for(name, "Does what it says.", properties) for name in marks.names)


def _function(name: str, properties: dict[str, Json], *required: str, **defined: Json) -> Tool:
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
    }
    if defined:
        parameters["$defs"] = defined
    return {"name": name, "description": f"Call {name}.", "parameters": parameters}


_GUEST: Json = {
    "type": "object",
    "description": "Who comes.",
    "properties": {
        "surname": {"type": "string", "description": "Family name."},
        "mail": {"type": "string", "format": "email", "description": "Where to write."},
    },
    "required": ["surname"],
}
REAL_SHAPES: tuple[Tool, ...] = (
    _function("fetch_page", {"address": {"type": "string"}}, "address"),
    {"name": "list_alarms", "description": "List all.", "parameters": {"type": "object"}},
    _function(
        "find_flights",
        {
            "cabin": {"type": "string", "description": "Which.", "enum": ["economy", "first"]},
            "day": {"type": "string", "description": "When.", "format": "date"},
            "seats": {
                "type": "integer",
                "description": "n",
                "minimum": 1,
                "maximum": 9,
                "default": 1,
            },
            "code": {"type": "string", "description": "A code.", "pattern": "^[A-Z]{3}$"},
        },
        "day",
    ),
    _function(
        "book_room",
        {"lead": _GUEST, "others": {"type": "array", "description": "Who else.", "items": _GUEST}},
        "lead",
    ),
    _function(
        "set_note",
        {
            "text": {
                "description": "What.",
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
            },
            "until": {"type": ["string", "null"], "description": "How long."},
        },
    ),
    _function("set_mode", {"mode": {"const": "quiet", "description": "How."}}),
    _function(
        "draw_line",
        {"end": {"$ref": "#/$defs/point", "description": "Where to."}},
        "end",
        point={
            "type": "object",
            "properties": {"across": {"type": "number", "description": "In inches."}},
        },
    ),
)
"""Functions with what tools of published servers have: a parameter without description, an object
without properties, objects in objects and lists, values listed and bounded, null, references."""
