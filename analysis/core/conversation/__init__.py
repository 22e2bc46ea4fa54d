"""What a conversation is to the engine, before any template's wishes are known."""

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

from .beyond_json import beyond_json
from .message import Json, Message, Presence, ToolCall
from .tools import Tool, function_of, tool_for, with_properties

if TYPE_CHECKING:
    from .dialogue import Dialogue, Entry, ToolResult, User
    from .media_forms import MEDIA_FORMS, MediaForm, MediaKind, media_kind
    from .read_message import (
        Agreement,
        ReadCall,
        ReadingJudge,
        ReadingVerdict,
        ReadMessage,
        same_json,
    )

__all__ = [
    "MEDIA_FORMS",
    "Agreement",
    "Dialogue",
    "Entry",
    "Json",
    "MediaForm",
    "MediaKind",
    "Message",
    "Presence",
    "ReadCall",
    "ReadMessage",
    "ReadingJudge",
    "ReadingVerdict",
    "Tool",
    "ToolCall",
    "ToolResult",
    "User",
    "beyond_json",
    "function_of",
    "media_kind",
    "same_json",
    "tool_for",
    "with_properties",
]

_HOMES = {
    "dialogue": ("Dialogue", "Entry", "ToolResult", "User"),
    "media_forms": ("MEDIA_FORMS", "MediaForm", "MediaKind", "media_kind"),
    "read_message": (
        "Agreement",
        "ReadCall",
        "ReadingJudge",
        "ReadingVerdict",
        "ReadMessage",
        "same_json",
    ),
}
"""Conversations, media and readings need these; what names a message waits for none of them."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
