"""The phases, one module each: two conversations, a difference, a conclusion."""

from .draft import Draft
from .finding import Evidence, Finding
from .run import run_phases

__all__ = ["Draft", "Evidence", "Finding", "run_phases"]
