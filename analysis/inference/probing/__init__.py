"""Probing a template: sentinels, shapes, and the renders themselves."""

from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    ReasoningForm,
    Setting,
    Shape,
    StringArguments,
    ToolForm,
    offered,
)

from .negotiation import Negotiated, negotiate
from .prober import NO_SETTING, Meter, Probe, Prober
from .reasoning_shape import STANDARD_FIELDS
from .sentinels import Sentinels, choose_sentinels
from .suggestions import ANY_WORD, Suggestions, stand_ins_of, suggest, suggestions_of, tokens_of
from .trials import (
    ShapeTrial,
    UnusableTemplateError,
    answered,
    call_of,
    prints_parts,
    switch_candidates,
    under,
)

__all__ = [
    "ANY_WORD",
    "NO_SETTING",
    "STANDARD_FIELDS",
    "CallForm",
    "ContentForm",
    "EmptyContent",
    "Meter",
    "Negotiated",
    "Probe",
    "Prober",
    "ReasoningForm",
    "Sentinels",
    "Setting",
    "Shape",
    "ShapeTrial",
    "StringArguments",
    "Suggestions",
    "ToolForm",
    "UnusableTemplateError",
    "answered",
    "call_of",
    "choose_sentinels",
    "negotiate",
    "offered",
    "prints_parts",
    "stand_ins_of",
    "suggest",
    "suggestions_of",
    "switch_candidates",
    "tokens_of",
    "under",
]
