"""A debugger for chat templates.

This is the public face: the names below, and the values that they give. Each is imported when
it is first asked for, so that a program which needs one does not wait for all.

    >>> from autoparser import analyze
    >>> analysis = analyze("org/model", isolate=True)  # a stranger's: in a worker, under limits
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from .lazy_names import lazy_names
from .shown import Presenter, present_by

__version__ = "0.1.0"

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis, analyze
    from autoparser.analysis.constraining.constrained import (
        Constraint,
        GrammarBackend,
        ReasoningGate,
    )
    from autoparser.analysis.constraining.grammar import Grammar, GrammarError
    from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall
    from autoparser.analysis.core.errors import (
        AutoparserError,
        Limit,
        TaskLimitError,
        TemplateLimitError,
        TemplateNeededError,
        TemplateNotFoundError,
        TemplateReadError,
        TemplateRenderError,
        TemplateSyntaxError,
        TemplateUnusableError,
        WorkerDiedError,
    )
    from autoparser.analysis.core.format import Begun, Formats, RefusedMessageError, TurnFormat
    from autoparser.analysis.core.provenance import Provenance
    from autoparser.analysis.core.switches import Switch
    from autoparser.analysis.core.verdicts import Check, Failure, Gate, GateFault
    from autoparser.analysis.describing.document import SCHEMA, document
    from autoparser.analysis.describing.export import Export, response_template
    from autoparser.analysis.describing.view import MarkerRegistry, View
    from autoparser.analysis.from_examples import TaughtFormat, learn
    from autoparser.analysis.from_outputs import InferredFormat, learn_outputs
    from autoparser.analysis.history.renderer import (
        AsyncRenderer,
        BridgeRefusal,
        CallTokens,
        Reason,
        RenderedTokens,
        Renderer,
        TrainingSample,
        TrajectoryStep,
        training_template,
    )
    from autoparser.analysis.history.roundtrip import (
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
    from autoparser.analysis.inference.examples import Example, given_examples
    from autoparser.analysis.inference.outputs import LoggedOutput, given_outputs
    from autoparser.analysis.inference.phases import Evidence, Finding
    from autoparser.analysis.learnt import LearntFormat, SavedFormat, load_format
    from autoparser.analysis.loading.encoders import load_encoder
    from autoparser.analysis.loading.fetching import fetch
    from autoparser.analysis.loading.isolation import Limits, TaskOutcome, WorkerPool
    from autoparser.analysis.loading.sources import load_template
    from autoparser.analysis.loading.template import ChatTemplate, isolated
    from autoparser.analysis.loading.tokens import load_tokenizer
    from autoparser.analysis.reading.expression import RequestError, RequestOptions
    from autoparser.analysis.reading.parsing import (
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
    from autoparser.analysis.reading.parsing.reasoning_end import ReasoningEnd, ReasoningState

__all__ = [
    "SCHEMA",
    "Advice",
    "Analysis",
    "AsyncRenderer",
    "AutoparserError",
    "Begun",
    "BridgeRefusal",
    "CallIds",
    "CallTokens",
    "Cause",
    "ChatTemplate",
    "Check",
    "Constraint",
    "Delta",
    "Difference",
    "Evidence",
    "Example",
    "Export",
    "Failure",
    "Finding",
    "Formats",
    "Gate",
    "GateFault",
    "Grammar",
    "GrammarBackend",
    "GrammarError",
    "InferredFormat",
    "Json",
    "LearntFormat",
    "Limit",
    "Limits",
    "LoggedOutput",
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
    "ReasoningGate",
    "ReasoningState",
    "RefusedMessageError",
    "RenderedTokens",
    "Renderer",
    "RequestError",
    "RequestOptions",
    "RoundTrip",
    "Row",
    "SavedFormat",
    "Scenario",
    "ScenarioError",
    "Span",
    "SpanKind",
    "Status",
    "StreamParser",
    "Switch",
    "TaskLimitError",
    "TaskOutcome",
    "TaughtFormat",
    "TemplateLimitError",
    "TemplateNeededError",
    "TemplateNotFoundError",
    "TemplateReadError",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "TemplateUnusableError",
    "TokenVerdict",
    "ToolCall",
    "TrainingSample",
    "TrajectoryStep",
    "TurnFormat",
    "Verdict",
    "View",
    "WorkerDiedError",
    "WorkerPool",
    "advice_of",
    "analyze",
    "document",
    "fetch",
    "given_examples",
    "given_outputs",
    "isolated",
    "learn",
    "learn_outputs",
    "load_encoder",
    "load_format",
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
    "constraining.constrained": ("Constraint", "GrammarBackend", "ReasoningGate"),
    "core.conversation": ("Json", "Message", "Presence", "ToolCall"),
    "describing.document": ("SCHEMA", "document"),
    "loading.encoders": ("load_encoder",),
    "core.errors": (
        "AutoparserError",
        "Limit",
        "TaskLimitError",
        "TemplateLimitError",
        "TemplateNeededError",
        "TemplateNotFoundError",
        "TemplateReadError",
        "TemplateRenderError",
        "TemplateSyntaxError",
        "TemplateUnusableError",
        "WorkerDiedError",
    ),
    "core.provenance": ("Provenance",),
    "core.verdicts": ("Check", "Failure", "Gate", "GateFault"),
    "describing.export": ("Export", "response_template"),
    "reading.expression": ("RequestError", "RequestOptions"),
    "learnt": ("LearntFormat", "SavedFormat", "load_format"),
    "loading.fetching": ("fetch",),
    "core.format": ("Begun", "Formats", "RefusedMessageError", "TurnFormat"),
    "constraining.grammar": ("Grammar", "GrammarError"),
    "loading.isolation": ("Limits", "TaskOutcome", "WorkerPool"),
    "core.switches": ("Switch",),
    "reading.parsing": (
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
    "reading.parsing.reasoning_end": ("ReasoningEnd", "ReasoningState"),
    "inference.phases": ("Evidence", "Finding"),
    "from_examples": ("TaughtFormat", "learn"),
    "from_outputs": ("InferredFormat", "learn_outputs"),
    "inference.examples": ("Example", "given_examples"),
    "inference.outputs": ("LoggedOutput", "given_outputs"),
    "history.renderer": (
        "AsyncRenderer",
        "BridgeRefusal",
        "CallTokens",
        "Reason",
        "RenderedTokens",
        "Renderer",
        "TrainingSample",
        "TrajectoryStep",
        "training_template",
    ),
    "history.roundtrip": (
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
    "loading.sources": ("load_template",),
    "loading.template": ("ChatTemplate", "isolated"),
    "loading.tokens": ("load_tokenizer",),
    "describing.view": ("MarkerRegistry", "View"),
}
"""Which module of the engine each name is in."""


def _presenter() -> Presenter:
    return cast("Presenter", import_module("autoparser.reports.presented").presented)


present_by(_presenter)

if not TYPE_CHECKING:
    # Hidden from type checkers, to which every misspelt name would otherwise be there.
    __getattr__ = lazy_names(__name__, _HOMES, below=".analysis")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
