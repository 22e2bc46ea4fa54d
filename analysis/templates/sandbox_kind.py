"""Name the sandboxes in which a template runs, without importing Jinja."""

from __future__ import annotations

from enum import StrEnum


class SandboxKind(StrEnum):
    """Jinja's sandboxes."""

    IMMUTABLE = "immutable"
    """The sandbox of transformers: changing a list, a dictionary or a set raises."""
    MUTABLE = "mutable"
    """The same, but such changes are allowed."""
