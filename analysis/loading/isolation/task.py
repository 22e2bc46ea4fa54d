"""One task in a worker; workers are kept for the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from .limits import DEFAULT_LIMITS, Limits
from .pool import fit
from .worker import Worker

__all__ = ["close_workers", "run_task"]

Value = TypeVar("Value")

KEPT = 4
"""Idle workers that are kept."""

_idle: list[Worker] = []
"""Each is taken out before it is used, which lists do in one step: threads never share one."""


def run_task(
    function: Callable[..., Value],
    *arguments: object,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    terminal: bool = False,
    **named: object,
) -> Value:
    """Run a function of a module in a worker, and give its value; `file` is what errors name.

    With `terminal` the worker is a new one that reads and prints where this process does. Raises
    what the function raises, TaskLimitError for a task that is beyond its limits, WorkerDiedError
    for one that lost its worker.
    """
    worker = Worker(terminal=True) if terminal else _taken()
    try:
        value = worker.call(function, *arguments, limits=limits, file=file, named=named)
    finally:
        if terminal or not fit(worker) or len(_idle) >= KEPT:
            worker.close()
        else:
            _idle.append(worker)
    return cast("Value", value)


def close_workers() -> None:
    """End the workers that are kept; a later task starts another one."""
    while _idle:
        _idle.pop().close()


def _taken() -> Worker:
    while _idle:
        worker = _idle.pop()
        if worker.idle:
            return worker
        worker.close()
    return Worker()
