"""One text, and what a server makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import ReadMessage

from .client_message import Likeness, PartDifference, differences
from .known_text import KnownText

__all__ = ["NotAsked", "ProbedText", "ReadVerdict"]


class ReadVerdict(StrEnum):
    """How a server reads a text."""

    EXACT = "exact"
    EDGES = "edges"
    """As it is meant but for whitespace at the edges of a part."""
    DIFFERENT = "different"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ProbedText:
    """One text, and what the server makes of it."""

    known: KnownText
    came: ReadMessage | None
    """None: the server refuses."""
    refusal: str = ""
    differences: tuple[PartDifference, ...] = ()
    streamed: ReadMessage | None = None
    """What a client puts together of the stream; None: there is none."""
    stream_refusal: str = ""

    @property
    def verdict(self) -> ReadVerdict:
        """How far it is read as it is meant, at once."""
        return ReadVerdict.REFUSED if self.came is None else _verdict(self.differences)

    @property
    def stream_verdict(self) -> ReadVerdict | None:
        """How far its stream is the answer at once; None: that was not compared."""
        if self.stream_refusal:
            return ReadVerdict.REFUSED
        return None if self.streamed is None else _verdict(self.stream_differences)

    @property
    def stream_differences(self) -> tuple[PartDifference, ...]:
        """What the stream has otherwise than the answer at once."""
        if self.came is None or self.streamed is None:
            return ()
        return differences(self.came, self.streamed)


def _verdict(found: Sequence[PartDifference]) -> ReadVerdict:
    if not found:
        return ReadVerdict.EXACT
    edges = all(each.likeness is Likeness.EDGES for each in found)
    return ReadVerdict.EDGES if edges else ReadVerdict.DIFFERENT


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A message about whose text the server was not asked."""

    title: str
    reason: str
