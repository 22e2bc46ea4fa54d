"""What one client may take of the chat endpoint."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Bounds on bodies, time and how much happens at once."""

    body: int = 8_000_000
    """Bytes of a request."""
    seconds: float = 600.0
    """What an answer may take, from the request to its last piece."""
    requests: int = 256
    """Chats that are answered at the same time; one more is told to come back."""
    body_seconds: float = 30.0
    """What a request's body may take to arrive."""
