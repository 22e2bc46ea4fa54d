"""A format in the words of reports: modes, markers, flags.

Reports show them; nothing below reads them: what they say of a format is asked of the format.
"""

from .format_view import Flags, View, view_of
from .marker_registry import MarkerRegistry, marker_registry
from .modes import CallIdPosition, ContentMode, ReasoningMode, ToolFormat

__all__ = [
    "CallIdPosition",
    "ContentMode",
    "Flags",
    "MarkerRegistry",
    "ReasoningMode",
    "ToolFormat",
    "View",
    "marker_registry",
    "view_of",
]
