"""Checking a format against its template: the fixed battery and the verdict."""

from .battery import Case, battery, battery_tools, loose_tools
from .continuations import Continuation, continuations
from .crash import Crash
from .selfcheck import Check, Failure, self_check
from .template_turns import TemplateTurns, WrittenTurn

__all__ = [
    "Case",
    "Check",
    "Continuation",
    "Crash",
    "Failure",
    "TemplateTurns",
    "WrittenTurn",
    "battery",
    "battery_tools",
    "continuations",
    "loose_tools",
    "self_check",
]
