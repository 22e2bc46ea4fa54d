"""What changed between two templates in what they do, whatever their sources say."""

from .comparison import Comparison, FindingChange, TripChange, compare
from .facts import FactChange, changed_facts
from .grouping import RenderChange
from .renders import AskedRenders, changed_renders

__all__ = [
    "AskedRenders",
    "Comparison",
    "FactChange",
    "FindingChange",
    "RenderChange",
    "TripChange",
    "changed_facts",
    "changed_renders",
    "compare",
]
