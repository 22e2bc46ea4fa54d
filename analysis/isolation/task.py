"""One task in a worker of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from .limits import DEFAULT_LIMITS, Limits
from .worker import Worker

__all__ = ["run_task"]


Value = TypeVar("Value")


def run_task(
    function: Callable[..., Value],
    *arguments: object,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    terminal: bool = False,
    **named: object,
) -> Value:
    """Run a function of a module in a worker, and give its value; `file` is what errors name.

    With `terminal` the worker reads and prints where this process does. Raises what the function
    raises, TaskLimitError for a task that is beyond its limits, WorkerDiedError for one that lost
    its worker.
    """
    worker = Worker(terminal=terminal)
    try:
        return cast("Value", worker.call(function, *arguments, limits=limits, file=file, named=named))
    finally:
        worker.close()
