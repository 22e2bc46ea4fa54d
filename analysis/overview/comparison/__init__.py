"""What changed between two templates in what they do, whatever their sources say."""

from .asked_renders import AskedRenders, changed_renders
from .comparison import Comparison, FindingChange, TripChange, compare
from .facts import FactChange, changed_facts
from .formats_compared import FormatComparison, compare_formats
from .grouping import RenderChange

__all__ = [
    "AskedRenders",
    "Comparison",
    "FactChange",
    "FindingChange",
    "FormatComparison",
    "RenderChange",
    "TripChange",
    "changed_facts",
    "changed_renders",
    "compare",
    "compare_formats",
]
