"""How a template wrote new messages after a turn, cached for the next time.

An attribution costs a second render. Where messages of the same roles come again, the text that
they should make is put together from what stood around their texts the last time. If that is
what the template has written, the attribution is the same; if not, it is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .attribution import Segment
from .renders import Messages

MOST_PATTERNS = 8
"""Cached for the same roles after the same kind of turn."""


@dataclass(frozen=True, slots=True)
class RenderPiece:
    """A stretch of the text."""

    message: int
    text: str | None
    """What the template wrote; None: the content of the message."""


@dataclass(frozen=True, slots=True)
class RenderPattern:
    """A text as what the template wrote around the contents of its messages."""

    pieces: tuple[RenderPiece, ...]

    def segments(self, messages: Messages, text: str) -> tuple[Segment, ...] | None:
        """Attribute a text; None where it is not by this pattern."""
        found: list[Segment] = []
        at = 0
        for piece in self.pieces:
            said = piece.text
            if said is None:
                content = messages[piece.message].get("content")
                if not isinstance(content, str) or not content.strip():
                    return None
                said = content
            if not text.startswith(said, at):
                return None
            found.append(
                Segment(at, at + len(said), piece.message, piece.text is None, False, False)
            )
            at += len(said)
        return tuple(found) if at == len(text) else None


def pattern_of(segments: Sequence[Segment], messages: Messages, text: str) -> RenderPattern | None:
    """Return the pattern of an attributed text; None where a content is not written as it is."""
    pieces: list[RenderPiece] = []
    for segment in segments:
        said = text[segment.start : segment.end]
        if segment.content and messages[segment.message].get("content") != said:
            return None
        pieces.append(RenderPiece(segment.message, None if segment.content else said))
    return RenderPattern(tuple(pieces))
