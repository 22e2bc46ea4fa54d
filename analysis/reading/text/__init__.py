"""Reading pieces of text as they come: literals, values, arguments."""

from .argument_reading import read_arguments
from .entry_openings import key_closers
from .json_text import Emit, ReadOutcome, missing_closers, read_json
from .literals import (
    at_any,
    at_text,
    behind_space,
    behind_space_any,
    read_literal,
    skip_space,
    skip_written,
)
from .lookahead import GoesOn, Lookahead
from .raw_text import json_of
from .stops import Found, Stops
from .tape import WHITESPACE, Lane, Reading, Sink, Span, SpanKind, Tape, plain_sink

__all__ = [
    "WHITESPACE",
    "Emit",
    "Found",
    "GoesOn",
    "Lane",
    "Lookahead",
    "ReadOutcome",
    "Reading",
    "Sink",
    "Span",
    "SpanKind",
    "Stops",
    "Tape",
    "at_any",
    "at_text",
    "behind_space",
    "behind_space_any",
    "json_of",
    "key_closers",
    "missing_closers",
    "plain_sink",
    "read_arguments",
    "read_json",
    "read_literal",
    "skip_space",
    "skip_written",
]
