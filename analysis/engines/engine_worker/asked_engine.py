"""What is asked of an engine, and the form of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

USER = {"role": "user", "content": "Please look into it."}
STEPS = (1, 6)
"""Tokens that come together, where an engine's parsers can be given any."""
Reading = Mapping[str, Any]
"""`reasoning`, `content` and `calls`, each a name and its arguments as text."""


class AskedEngine(Protocol):
    """What is asked of an engine."""

    @property
    def name(self) -> str:
        """Return what it is called."""
        ...

    @property
    def steps(self) -> Sequence[int]:
        """Return how many tokens can come together in its streams."""
        ...

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of its parsers of calls and of reasoning."""
        ...

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Take the tools of the request; return what `auto` chooses, None where there is none."""
        ...

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return the texts that it cannot be asked about, by their places, and why."""
        ...

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Make what reads a text by two parsers."""
        ...


def message(
    reasoning: str | None, content: str | None, calls: Sequence[tuple[str | None, str]]
) -> Reading:
    """Return what was read; absent parts are empty."""
    named = [[name or "", given] for name, given in calls]
    return {"reasoning": reasoning or "", "content": content or "", "calls": named}
