"""Checking a format against its template: the fixed battery and the verdict."""

from autoparser.analysis.core.battery import BatteryCase, battery, battery_tools, loose_tools
from autoparser.analysis.core.verdicts import Check, Crash, Failure

from .continuations import Earlier, TemplateContinuation, continuations, turns_after
from .selfcheck import self_check
from .template_turns import TemplateTurns, WrittenTurn

__all__ = [
    "BatteryCase",
    "Check",
    "Crash",
    "Earlier",
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
