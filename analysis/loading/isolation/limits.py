"""The limits of a task in a worker, and what of it is beyond them.

Contract: time is processor time of the worker, of all its threads, so that a machine under load,
a command that waits for its standard input and one that was stopped for a while are not cut. A
field of None is not a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.errors import Limit

__all__ = ["DEFAULT_LIMITS", "NO_LIMITS", "LimitReached", "Limits", "TaskLimitReached"]

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a task may take. The defaults are an order above what real templates need."""

    render_seconds: float | None = 5.0
    """Processor time of one render, in seconds; compiling the template is held to it, too."""
    seconds: float | None = 60.0
    """Processor time of the whole task, in seconds."""
    pipe_seconds: float | None = None
    """Seconds that the other end of a named pipe is waited for; None stands for `seconds`."""
    memory: int | None = 1000 * MEGABYTE
    """Bytes that the worker may take on top of what it has when the task begins."""
    characters: int | None = 10_000_000
    """Characters of one render's text."""

    def __post_init__(self) -> None:
        for name in ("render_seconds", "seconds", "pipe_seconds", "memory", "characters"):
            value: float | None = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"the limit {name} must be above 0 or None, not {value}")


DEFAULT_LIMITS = Limits()
NO_LIMITS = Limits(render_seconds=None, seconds=None, memory=None, characters=None)


class LimitReached(BaseException):
    """A render is beyond a limit. No Exception: Jinja swallows those here and there."""

    def __init__(self, limit: Limit, words: str) -> None:
        super().__init__(limit, words)
        self.limit = limit
        self.words = words
        """What was too much, as in "it takes more than 10 seconds"."""


class TaskLimitReached(BaseException):
    """The whole task is beyond its time. Not to be taken for the end of one render."""
