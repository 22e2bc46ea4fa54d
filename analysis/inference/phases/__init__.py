"""The phases, one module each: two conversations, a difference, a conclusion."""

from .all_phases import run_phases
from .draft import Draft
from .phase_finding import Evidence, Finding

__all__ = ["Draft", "Evidence", "Finding", "run_phases"]
