"""The parser that a format and a request make: push, forgiving, and aware of the prompt."""

from autoparser.analysis.reading.text import Span, SpanKind

from .call_ids import CallIds
from .either import EitherParser
from .message_read import message_of
from .parsed_message import (
    CallAttempt,
    Delta,
    DeltaKind,
    FinishReason,
    ParsedCall,
    ParsedMessage,
    Status,
)
from .parser import OutputParser, after_reasoning
from .stream import StreamParser

__all__ = [
    "CallAttempt",
    "CallIds",
    "Delta",
    "DeltaKind",
    "EitherParser",
    "FinishReason",
    "OutputParser",
    "ParsedCall",
    "ParsedMessage",
    "Span",
    "SpanKind",
    "Status",
    "StreamParser",
    "after_reasoning",
    "message_of",
]
