"""What of an output was not read as the template writes it, where, and why that may be."""

from .elsewhere import Prompted
from .explain import Reader, explain
from .explanation import Cause, CauseKind, Deviation, Explanation

__all__ = ["Cause", "CauseKind", "Deviation", "Explanation", "Prompted", "Reader", "explain"]
