"""Probing a template: sentinels, shapes, and the renders themselves."""

from .prober import NO_SETTING, Meter, Probe, Prober
from .sentinels import Sentinels, choose_sentinels
from .shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    ReasoningForm,
    Setting,
    Shape,
    ToolForm,
    offered,
)
from .suggestions import Suggestions, suggest

__all__ = [
    "NO_SETTING",
    "CallForm",
    "ContentForm",
    "EmptyContent",
    "Meter",
    "Probe",
    "Prober",
    "ReasoningForm",
    "Sentinels",
    "Setting",
    "Shape",
    "Suggestions",
    "ToolForm",
    "choose_sentinels",
    "offered",
    "suggest",
]
