"""How the reading of a call ends, and what its reader must know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.format import Literal

from .continuation import AfterArguments


class CallEnd(StrEnum):
    """How the reading of a call ended."""

    CLOSED = "closed"
    CUT = "cut"
    """The text ended in the middle of the call."""
    NO_CALL = "no call"
    """What began like a call is none, or cannot be read."""


@dataclass(frozen=True, slots=True)
class CallSurroundings:
    """What a call's reader must know of what stands around it."""

    stops: tuple[str, ...]
    """Texts that may follow a call."""
    closers: tuple[str, ...]
    """Markers that close a call and mean nothing else."""
    section_close: Literal
    """What closes all calls."""
    offered: frozenset[str] | None
    """The tools; None: any."""
    tentative: bool
    """Nothing but the name of an offered tool makes it a call."""
    continuation: AfterArguments
    """What tells one of the stops from a text that looks like it."""
