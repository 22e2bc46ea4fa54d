"""What changed between two templates in what they do, whatever their sources say."""

from .comparison import Comparison, FindingChange, TripChange, compare
from .facts import FactChange, changed_facts
from .renders import RenderChange, changed_renders

__all__ = [
    "Comparison",
    "FactChange",
    "FindingChange",
    "RenderChange",
    "TripChange",
    "changed_facts",
    "changed_renders",
    "compare",
]
