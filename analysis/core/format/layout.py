"""The parts of a turn, and how turns are laid out that have some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .text import Edges


class Part(StrEnum):
    """A block of a turn."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a turn with certain parts is laid out."""

    parts: tuple[Part, ...] = ()
    """The parts that reach the text, in order; a part may be dropped, or written twice."""
    literals: tuple[str, ...] = ("",)
    """What stands before, between and after the parts; one more than there are parts."""
    reasoning: Edges = field(default_factory=Edges)
    content: Edges = field(default_factory=Edges)
    refusal: str = ""
    """The template's own words where it refuses such a message."""
