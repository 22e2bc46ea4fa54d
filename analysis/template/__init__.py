"""A chat template: its text, its special tokens, and its renders."""

from .chat_template import ChatTemplate
from .environment import GENERATION_CLOSE, GENERATION_OPEN
from .messages import REASONING_FIELDS, plain, prepared_messages, prepared_tools
from .provenance import Provenance, SourceKind

__all__ = [
    "GENERATION_CLOSE",
    "GENERATION_OPEN",
    "REASONING_FIELDS",
    "ChatTemplate",
    "Provenance",
    "SourceKind",
    "plain",
    "prepared_messages",
    "prepared_tools",
]
