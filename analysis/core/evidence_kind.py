"""What kind of evidence there is for what is known of a format."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["EvidenceKind"]


class EvidenceKind(StrEnum):
    """How a part of a format came to be known."""

    RENDER = "render"
    """The template itself writes it."""
    EXAMPLE = "example"
    """An output shows it, and the message that the output means was given beside it."""
    OUTPUT = "output"
    """Outputs show it, and nobody said what they mean."""
    WORDS = "words"
    """Only the prompt's words spell it out."""
