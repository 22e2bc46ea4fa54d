"""The limits of a task in a worker, and what of it is beyond them.

Contract: time is processor time of the worker, of all its threads, so that a machine under load,
a command that waits for its standard input and one that was stopped for a while are not cut. A
field of None is not a limit.
"""

from __future__ import annotations

import signal
from contextlib import suppress

from msgspec import Struct

from autoparser.analysis.core.errors import AutoparserError, Limit, TaskLimitError, WorkerDiedError

MEGABYTE = 1_000_000


class Limits(Struct, frozen=True, kw_only=True):
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


# The words of errors about limits and about workers that died.


_OPTIONS = {
    Limit.RENDER_TIME: "--timeout",
    Limit.TASK_TIME: "--timeout",
    Limit.MEMORY: "--memory",
    Limit.OUTPUT: "--max-output",
}


def raise_limit_hint(limit: Limit) -> str:
    """Return how to go beyond a limit."""
    return f"if it needs more, raise the limit with {_OPTIONS[limit]}"


def limit_error(limit: Limit, limits: Limits, file: str | None) -> TaskLimitError:
    """Return the error of a task that went beyond a limit."""
    return TaskLimitError(limit, _too_much(limit, limits), file=file, hint=raise_limit_hint(limit))


def _too_much(limit: Limit, limits: Limits) -> str:
    match limit:
        case Limit.MEMORY:
            return memory_words(limits.memory)
        case Limit.RENDER_TIME:
            return f"one step of a render takes more than {limits.render_seconds or 0:.3g} s"
        case Limit.OUTPUT:
            return f"it writes more than {limits.characters} characters"
        case Limit.TASK_TIME:
            return f"it takes more than {limits.seconds or 0:.3g} s"


def memory_words(most: int | None) -> str:
    """Describe a task that takes more memory than is allowed, or than there is."""
    if most is None:
        return "it takes more memory than there is"
    return f"it takes more than {most / MEGABYTE:g} MB of memory"


def death_error(status: int, limits: Limits, file: str | None) -> AutoparserError:
    """Return the error of a task whose worker ended with this exit code, as `subprocess` has it."""
    name = _signal_name(status)
    if name == "SIGPROF":
        return limit_error(Limit.RENDER_TIME, limits, file)
    if name == "SIGXCPU":
        return limit_error(Limit.TASK_TIME, limits, file)
    if name is None:
        words = f"its worker ended with exit code {status}"
    elif name == "SIGKILL":
        words = "its worker was killed (SIGKILL), as systems do where memory runs out"
    elif name == "SIGABRT":
        words = "its worker gave up (SIGABRT), as libraries do where memory runs out"
    else:
        words = f"its worker crashed ({name})"
    return WorkerDiedError(words, file=file, hint="there is no result; try again")


def fault_error(fault: BaseException, file: str | None) -> WorkerDiedError:
    """Return the error of a task that ended in a fault of this program."""
    words = f"its task failed ({type(fault).__name__}: {fault})"
    died = WorkerDiedError(words, file=file, hint="this is a fault of autoparser; please report it")
    died.__cause__ = fault
    return died


def silence_error(seconds: float, file: str | None) -> AutoparserError:
    """Return the error of a task whose worker was killed since it did not answer."""
    return TaskLimitError(
        Limit.TASK_TIME,
        f"its worker gave no answer in {seconds:.3g} s and was killed",
        file=file,
        hint=raise_limit_hint(Limit.TASK_TIME),
    )


def _signal_name(status: int) -> str | None:
    with suppress(ValueError):
        return signal.Signals(-status).name if status < 0 else None
    return f"signal {-status}"
