"""A chat template: its text, its special tokens, and its renders."""

from .chat_template import ChatTemplate
from .comments import comments
from .emission import Emission
from .environment import GENERATION_CLOSE, GENERATION_OPEN
from .isolated import IsolatedTemplate, isolated
from .messages import REASONING_FIELDS, plain, prepared_messages, prepared_tools

__all__ = [
    "GENERATION_CLOSE",
    "GENERATION_OPEN",
    "REASONING_FIELDS",
    "ChatTemplate",
    "Emission",
    "IsolatedTemplate",
    "comments",
    "isolated",
    "plain",
    "prepared_messages",
    "prepared_tools",
]
