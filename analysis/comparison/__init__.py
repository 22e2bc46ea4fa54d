"""What changed between two templates in what they do, whatever their sources say."""

from .comparison import Comparison, RemarkChange, TripChange, compare
from .facts import FactChange, changed_facts
from .renders import RenderChange, changed_renders

__all__ = [
    "Comparison",
    "FactChange",
    "RemarkChange",
    "RenderChange",
    "TripChange",
    "changed_facts",
    "changed_renders",
    "compare",
]
