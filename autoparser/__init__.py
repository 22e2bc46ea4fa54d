"""A debugger for chat templates.

This is the public face: the names below, and the values that they give. Each is imported when
it is first asked for, so that a program which needs one does not wait for all.

    >>> from autoparser import analyze, load_template
    >>> analysis = analyze(load_template("chat_template.jinja"))
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis, analyze
    from autoparser.analysis.check import Check, Failure
    from autoparser.analysis.conversation import Json, Message, Presence, ToolCall
    from autoparser.analysis.document import SCHEMA, document
    from autoparser.analysis.errors import (
        AutoparserError,
        Limit,
        TaskLimitError,
        TemplateLimitError,
        TemplateNotFoundError,
        TemplateReadError,
        TemplateRenderError,
        TemplateSyntaxError,
        TemplateUnusableError,
        WorkerDiedError,
    )
    from autoparser.analysis.export import Export, response_template
    from autoparser.analysis.expression import RequestError
    from autoparser.analysis.format import Begun, Formats, RefusedMessageError, TurnFormat
    from autoparser.analysis.gate import Gate, GateFault
    from autoparser.analysis.grammar import Grammar, GrammarError
    from autoparser.analysis.isolation import Limits, TaskOutcome, WorkerPool
    from autoparser.analysis.learning.switches import Switch
    from autoparser.analysis.parsing import (
        CallIds,
        Delta,
        OutputParser,
        ParsedCall,
        ParsedMessage,
        Span,
        SpanKind,
        Status,
        StreamParser,
    )
    from autoparser.analysis.parsing.reasoning_end import ReasoningEnd, ReasoningState
    from autoparser.analysis.phases import Evidence, Finding
    from autoparser.analysis.renderer import (
        BridgeRefusal,
        Reason,
        RenderedTokens,
        Renderer,
        training_template,
    )
    from autoparser.analysis.roundtrip import (
        Advice,
        Cause,
        Difference,
        Outcome,
        RoundTrip,
        Row,
        Scenario,
        ScenarioError,
        TokenVerdict,
        Verdict,
        advice_of,
        round_trip,
        scenarios_of,
        shipped_scenarios,
    )
    from autoparser.analysis.sources import fetch, load_encoder, load_template, load_tokenizer
    from autoparser.analysis.template import ChatTemplate, Provenance, isolated
    from autoparser.analysis.view import MarkerRegistry, View

__all__ = [
    "SCHEMA",
    "Advice",
    "Analysis",
    "AutoparserError",
    "Begun",
    "BridgeRefusal",
    "CallIds",
    "Cause",
    "ChatTemplate",
    "Check",
    "Delta",
    "Difference",
    "Evidence",
    "Export",
    "Failure",
    "Finding",
    "Formats",
    "Gate",
    "GateFault",
    "Grammar",
    "GrammarError",
    "Json",
    "Limit",
    "Limits",
    "MarkerRegistry",
    "Message",
    "Outcome",
    "OutputParser",
    "ParsedCall",
    "ParsedMessage",
    "Presence",
    "Provenance",
    "Reason",
    "ReasoningEnd",
    "ReasoningState",
    "RefusedMessageError",
    "RenderedTokens",
    "Renderer",
    "RequestError",
    "RoundTrip",
    "Row",
    "Scenario",
    "ScenarioError",
    "Span",
    "SpanKind",
    "Status",
    "StreamParser",
    "Switch",
    "TaskLimitError",
    "TaskOutcome",
    "TemplateLimitError",
    "TemplateNotFoundError",
    "TemplateReadError",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "TemplateUnusableError",
    "TokenVerdict",
    "ToolCall",
    "TurnFormat",
    "Verdict",
    "View",
    "WorkerDiedError",
    "WorkerPool",
    "advice_of",
    "analyze",
    "document",
    "fetch",
    "isolated",
    "load_encoder",
    "load_template",
    "load_tokenizer",
    "response_template",
    "round_trip",
    "scenarios_of",
    "shipped_scenarios",
    "training_template",
]

_HOMES = {
    "analysis": ("Analysis", "analyze"),
    "check": ("Check", "Failure"),
    "conversation": ("Json", "Message", "Presence", "ToolCall"),
    "document": ("SCHEMA", "document"),
    "errors": (
        "AutoparserError",
        "Limit",
        "TaskLimitError",
        "TemplateLimitError",
        "TemplateNotFoundError",
        "TemplateReadError",
        "TemplateRenderError",
        "TemplateSyntaxError",
        "TemplateUnusableError",
        "WorkerDiedError",
    ),
    "export": ("Export", "response_template"),
    "expression": ("RequestError",),
    "format": ("Begun", "Formats", "RefusedMessageError", "TurnFormat"),
    "gate": ("Gate", "GateFault"),
    "grammar": ("Grammar", "GrammarError"),
    "isolation": ("Limits", "TaskOutcome", "WorkerPool"),
    "learning.switches": ("Switch",),
    "parsing": (
        "CallIds",
        "Delta",
        "OutputParser",
        "ParsedCall",
        "ParsedMessage",
        "Span",
        "SpanKind",
        "Status",
        "StreamParser",
    ),
    "parsing.reasoning_end": ("ReasoningEnd", "ReasoningState"),
    "phases": ("Evidence", "Finding"),
    "renderer": ("BridgeRefusal", "Reason", "RenderedTokens", "Renderer", "training_template"),
    "roundtrip": (
        "Advice",
        "Cause",
        "Difference",
        "Outcome",
        "RoundTrip",
        "Row",
        "Scenario",
        "ScenarioError",
        "TokenVerdict",
        "Verdict",
        "advice_of",
        "round_trip",
        "scenarios_of",
        "shipped_scenarios",
    ),
    "sources": ("fetch", "load_encoder", "load_template", "load_tokenizer"),
    "template": ("ChatTemplate", "Provenance", "isolated"),
    "view": ("MarkerRegistry", "View"),
}
"""Which module of the engine each name is in."""


if not TYPE_CHECKING:
    # Hidden from type checkers, to which every misspelt name would otherwise be there.

    def __getattr__(name: str) -> object:
        """Import a public name from its module."""
        for module, names in _HOMES.items():
            if name in names:
                value = getattr(import_module(f"autoparser.analysis.{module}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
