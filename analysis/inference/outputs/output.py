"""An output of which nobody said what it means."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.errors import AutoparserError

__all__ = ["LoggedOutput", "OutputError"]


class OutputError(AutoparserError):
    """Outputs cannot be read, or no format explains their calls."""


@dataclass(frozen=True, slots=True)
class LoggedOutput:
    """What a model wrote once, as a server's log has it."""

    text: str
    """After the prompt, with what ends the turn or without it."""
    prompt: str = ""
    """The rendered prompt, or any tail of it; empty: the template's default one."""
    place: str = ""
    """Where it was given, as `line 3`."""
