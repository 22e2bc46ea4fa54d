"""Reading pieces of text as they come: literals, values, arguments."""

from .arguments import read_arguments
from .json_text import Emit, Outcome, read_json
from .literals import at_any, at_text, behind_space, read_literal, skip_space, skip_written
from .tape import Lane, Reading, Span, SpanKind, Tape

__all__ = [
    "Emit",
    "Lane",
    "Outcome",
    "Reading",
    "Span",
    "SpanKind",
    "Tape",
    "at_any",
    "at_text",
    "behind_space",
    "read_arguments",
    "read_json",
    "read_literal",
    "skip_space",
    "skip_written",
]
