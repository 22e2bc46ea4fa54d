"""The parser that a format and a request make: push, forgiving, and aware of the prompt."""

from autoparser.analysis.reading import Span, SpanKind

from .message import Delta, DeltaKind, ParsedCall, ParsedMessage, Status
from .parser import OutputParser, StreamParser

__all__ = [
    "Delta",
    "DeltaKind",
    "OutputParser",
    "ParsedCall",
    "ParsedMessage",
    "Span",
    "SpanKind",
    "Status",
    "StreamParser",
]
