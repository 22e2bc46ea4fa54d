"""What of an output was not read as the template writes it, where, and why that may be."""

from .elsewhere import PromptedParser
from .explain import OutputReading, explain
from .explanation import CauseKind, Deviation, Explanation, PossibleCause

__all__ = [
    "CauseKind",
    "Deviation",
    "Explanation",
    "OutputReading",
    "PossibleCause",
    "PromptedParser",
    "explain",
]
