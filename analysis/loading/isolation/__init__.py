"""Tasks in worker processes, under limits on time, memory and output.

A template is a program that a stranger wrote. Its sandbox keeps it from files and from the
environment; what keeps it from running forever and from eating all memory is here. Asking another
process for each render would cost more than the render, so what is isolated is a task: a function
that renders as often as it likes.

Why not ``pebble`` 5.2.3 or ``loky`` 3.7.0: the one ends a task by the clock on the wall, so that a
machine under load cuts it, and holds neither a single render nor memory; the other limits no task's
time, and looks at memory only when a task is done.

- `Limits`: what a task may take.
- `run_task(function, *arguments, limits=…)`: one task in a worker, which is kept.
- `WorkerPool(workers, limits=…).map(function, items)`: many, by workers that are used again.
- `Worker`: one that is kept.
- `current_guard()`: in a worker, what holds renders to their limits; for `ChatTemplate` alone.

What starts processes is imported when it is first asked for: who only names limits waits for none
of it. Knows no template.
"""

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

from .error_words import raise_it
from .guard import RenderGuard, current_guard
from .limits import DEFAULT_LIMITS, NO_LIMITS, LimitReached, Limits

if TYPE_CHECKING:
    from .pool import TaskOutcome, WorkerPool, usual_jobs
    from .task import close_workers, run_task
    from .worker import Worker

__all__ = [
    "DEFAULT_LIMITS",
    "NO_LIMITS",
    "LimitReached",
    "Limits",
    "RenderGuard",
    "TaskOutcome",
    "Worker",
    "WorkerPool",
    "close_workers",
    "current_guard",
    "raise_it",
    "run_task",
    "usual_jobs",
]

_HOMES = {
    "pool": ("TaskOutcome", "WorkerPool", "usual_jobs"),
    "task": ("close_workers", "run_task"),
    "worker": ("Worker",),
}
"""Which module each name that starts processes is in."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
