"""A chat template: its text, its special tokens, and its renders."""

from .chat_template import ChatTemplate
from .messages import REASONING_FIELDS

__all__ = ["REASONING_FIELDS", "ChatTemplate"]
