"""What a conversation is to the engine, before any template's wishes are known."""

from .beyond_json import beyond_json
from .dialogue import Dialogue, Entry, ToolResult, User
from .media_forms import MEDIA_FORMS, MediaForm, MediaKind, media_kind
from .message import Json, Message, Presence, ToolCall
from .read_message import Agreement, ReadCall, ReadingJudge, ReadingVerdict, ReadMessage, same_json
from .tools import Tool, function_of, tool_for, with_properties

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
