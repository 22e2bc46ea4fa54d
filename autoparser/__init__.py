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
        TemplateNotFoundError,
        TemplateReadError,
        TemplateRenderError,
        TemplateSyntaxError,
        TemplateUnusableError,
    )
    from autoparser.analysis.expression import RequestError
    from autoparser.analysis.format import RefusedMessageError, TurnFormat
    from autoparser.analysis.learning.switches import Switch
    from autoparser.analysis.parsing import (
        Delta,
        OutputParser,
        ParsedCall,
        ParsedMessage,
        Span,
        SpanKind,
        Status,
        StreamParser,
    )
    from autoparser.analysis.phases import Evidence, Finding
    from autoparser.analysis.renderer import (
        BridgeRefusal,
        RenderedTokens,
        Renderer,
        training_template,
    )
    from autoparser.analysis.sources import fetch, load_encoder, load_template
    from autoparser.analysis.template import ChatTemplate, Provenance
    from autoparser.analysis.view import MarkerRegistry, View

__all__ = [
    "SCHEMA",
    "Analysis",
    "AutoparserError",
    "BridgeRefusal",
    "ChatTemplate",
    "Check",
    "Delta",
    "Evidence",
    "Failure",
    "Finding",
    "Json",
    "MarkerRegistry",
    "Message",
    "OutputParser",
    "ParsedCall",
    "ParsedMessage",
    "Presence",
    "Provenance",
    "RefusedMessageError",
    "RenderedTokens",
    "Renderer",
    "RequestError",
    "Span",
    "SpanKind",
    "Status",
    "StreamParser",
    "Switch",
    "TemplateNotFoundError",
    "TemplateReadError",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "TemplateUnusableError",
    "ToolCall",
    "TurnFormat",
    "View",
    "analyze",
    "document",
    "fetch",
    "load_encoder",
    "load_template",
    "training_template",
]

_HOMES = {
    "analysis": ("Analysis", "analyze"),
    "check": ("Check", "Failure"),
    "conversation": ("Json", "Message", "Presence", "ToolCall"),
    "document": ("SCHEMA", "document"),
    "errors": (
        "AutoparserError",
        "TemplateNotFoundError",
        "TemplateReadError",
        "TemplateRenderError",
        "TemplateSyntaxError",
        "TemplateUnusableError",
    ),
    "expression": ("RequestError",),
    "format": ("RefusedMessageError", "TurnFormat"),
    "learning.switches": ("Switch",),
    "parsing": (
        "Delta",
        "OutputParser",
        "ParsedCall",
        "ParsedMessage",
        "Span",
        "SpanKind",
        "Status",
        "StreamParser",
    ),
    "phases": ("Evidence", "Finding"),
    "renderer": ("BridgeRefusal", "RenderedTokens", "Renderer", "training_template"),
    "sources": ("fetch", "load_encoder", "load_template"),
    "template": ("ChatTemplate", "Provenance"),
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
