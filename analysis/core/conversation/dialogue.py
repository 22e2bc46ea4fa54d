"""A conversation as the engine thinks of it: users, assistants and answers, no field names yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .media_forms import MediaKind
from .message import Message


@dataclass(frozen=True, slots=True)
class User:
    """One user message."""

    text: str
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds that come before the text."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool result: the answer to the call with this id."""

    text: str
    name: str
    call_id: str
    media: tuple[MediaKind, ...] = ()
    """Images, videos and sounds that come before the text."""


Entry: TypeAlias = User | Message | ToolResult
Dialogue: TypeAlias = tuple[Entry, ...]
