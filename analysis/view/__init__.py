"""The seeds' words for a format: modes, markers, fields.

Reports show them; nothing parses by them.
"""

from .fields import JsonFields, json_fields
from .modes import CallIdPosition, ContentMode, ReasoningMode, ToolFormat
from .registry import MarkerRegistry, marker_registry
from .summary import Flags, View, view_of

__all__ = [
    "CallIdPosition",
    "ContentMode",
    "Flags",
    "JsonFields",
    "MarkerRegistry",
    "ReasoningMode",
    "ToolFormat",
    "View",
    "json_fields",
    "marker_registry",
    "view_of",
]
