"""Checking a format against its template: the fixed battery and the verdict."""

from autoparser.analysis.core.battery import BatteryCase, battery, battery_tools, loose_tools
from autoparser.analysis.core.verdicts import Check, Crash, Failure

from .continuations import (
    Earlier,
    TemplateContinuation,
    continuations,
    turns_after,
    with_later_openings,
)
from .selfcheck import self_check
from .template_turns import TemplateTurns, WrittenTurn
from .tool_crashes import RenderedTools, ToolCrash
from .tools_in_prompt import LostPart, PartPlace, ToolsInPrompt, ToolSpelling, find_tools_in_prompt
from .usual_form import (
    FormOutcome,
    LostText,
    departures_together,
    lost_text,
    unnoticed_departures,
    without_reasoning,
)

__all__ = [
    "BatteryCase",
    "Check",
    "Crash",
    "Earlier",
    "Failure",
    "FormOutcome",
    "LostPart",
    "LostText",
    "PartPlace",
    "RenderedTools",
    "TemplateContinuation",
    "TemplateTurns",
    "ToolCrash",
    "ToolSpelling",
    "ToolsInPrompt",
    "WrittenTurn",
    "battery",
    "battery_tools",
    "continuations",
    "departures_together",
    "find_tools_in_prompt",
    "loose_tools",
    "lost_text",
    "self_check",
    "turns_after",
    "unnoticed_departures",
    "with_later_openings",
    "without_reasoning",
]
