"""Tools for the conversations that rules render."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Tool, tool_for
from autoparser.analysis.core.format import JsonType
from autoparser.analysis.inference.probing import Sentinels


def functions_for(marks: Sentinels) -> tuple[Tool, ...]:
    """Return three functions; each takes the string arguments and one of every type."""
    properties = dict.fromkeys(marks.keys, "string")
    properties |= {
        key: str(kind) for kind, key in marks.typed_keys.items() if kind is not JsonType.NULL
    }
    return tuple(tool_for(name, "Does what it says.", properties) for name in marks.names)
