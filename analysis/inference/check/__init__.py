"""Checking a format against its template: the fixed battery and the verdict."""

from autoparser.analysis.core.battery import BatteryCase, battery, battery_tools, loose_tools
from autoparser.analysis.core.verdicts import Check, Crash, Failure

from .continuations import Earlier, TemplateContinuation, continuations, turns_after
from .selfcheck import self_check
from .template_turns import TemplateTurns, WrittenTurn
from .tool_crashes import RenderedTools, ToolCrash
from .tools_in_prompt import LostPart, PartPlace, ToolsInPrompt, ToolSpelling, find_tools_in_prompt
from .usual_form import LostText, lost_text, without_reasoning

__all__ = [
    "BatteryCase",
    "Check",
    "Crash",
    "Earlier",
    "Failure",
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
    "find_tools_in_prompt",
    "loose_tools",
    "lost_text",
    "self_check",
    "turns_after",
    "without_reasoning",
]
