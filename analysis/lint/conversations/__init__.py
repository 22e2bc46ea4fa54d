"""Whole conversations that any template is held against."""

from .conversation_texts import ConversationTexts, texts_for
from .matrix import MatrixScope, conversations_for
from .whole_conversation import SpokenText, Voice, WholeConversation

__all__ = [
    "ConversationTexts",
    "MatrixScope",
    "SpokenText",
    "Voice",
    "WholeConversation",
    "conversations_for",
    "texts_for",
]
