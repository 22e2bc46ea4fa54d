"""A format in the words of reports: modes, markers, flags.

Reports show them; nothing below reads them: what they say of a format is asked of the format.
"""

from .modes import CallIdPosition, ContentMode, ReasoningMode, ToolFormat
from .registry import MarkerRegistry, marker_registry
from .summary import Flags, View, view_of

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
