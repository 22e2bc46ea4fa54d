"""Checking a format against its template: the fixed battery and the verdict."""

from .battery import BatteryCase, battery, battery_tools, loose_tools
from .continuations import TemplateContinuation, continuations, turns_after
from .crash import Crash
from .selfcheck import Check, Failure, self_check
from .template_turns import TemplateTurns, WrittenTurn

__all__ = [
    "BatteryCase",
    "Check",
    "Crash",
    "Failure",
    "TemplateContinuation",
    "TemplateTurns",
    "WrittenTurn",
    "battery",
    "battery_tools",
    "continuations",
    "loose_tools",
    "self_check",
    "turns_after",
]
