"""Many tasks by a few workers that are used again.

Contract: results come in the order of the items, whichever is done first. A task that fails, is
beyond a limit or loses its worker costs its own result and nothing else: it comes out as an
`TaskOutcome` with the error. Leaving the pool, by an exception too, leaves no process after.

    with WorkerPool(workers=4, limits=Limits(seconds=30)) as pool:
        for path, outcome in zip(paths, pool.map(analysis_of, paths, name=str)):
            if outcome.error is None:
                use(outcome.value)
            else:
                print(outcome.error)

The function must be one of a module, and it, the items and the results must pickle. What it
works with should be imported before the pool is made, and the pool be made before any thread is
started: its workers are then forked, in milliseconds each.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from autoparser.analysis.core.closed_at_exit import ClosedAtExit
from autoparser.analysis.core.errors import AutoparserError

from .error_words import of_fault
from .limits import DEFAULT_LIMITS, Limits
from .worker import Worker

__all__ = ["TaskOutcome", "WorkerPool", "fit", "usual_jobs"]

Item = TypeVar("Item")
Value = TypeVar("Value")

GROWN_TOO_LARGE = 300_000_000
"""Bytes by which a worker may grow over its tasks before another takes its place."""


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[Value]):
    """What became of one task."""

    value: Value | None = None
    """What the function gave; None where there is an error."""
    error: AutoparserError | None = None
    """What the function raised, which limit it went beyond, or how its worker died."""

    def result(self) -> Value:
        """Return the value. Raises the error."""
        if self.error is not None:
            raise self.error
        return cast("Value", self.value)


class WorkerPool(ClosedAtExit):
    """Workers for tasks of a kind. A context manager."""

    def __init__(self, workers: int | None = None, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Start so many workers; None: as many as are worth while."""
        count = workers or usual_jobs()
        self.limits = limits
        self._idle = deque(Worker() for _ in range(count))
        self._busy: dict[Connection, tuple[int, Worker]] = {}

    def close(self) -> None:
        """End the workers, whatever they are at."""
        for worker in (*self._idle, *(worker for _, worker in self._busy.values())):
            worker.close()
        self._idle.clear()
        self._busy.clear()

    def map(
        self,
        function: Callable[[Item], Value],
        items: Iterable[Item],
        *,
        name: Callable[[Item], str] | None = None,
    ) -> Generator[TaskOutcome[Value]]:
        """Give the outcome for each item, in their order, as soon as it and those before are there.

        `name` gives what errors name as the file. One map at a time: its workers are the pool's.
        """
        waiting = enumerate(items)
        done: dict[int, TaskOutcome[Value]] = {}
        turn = 0
        try:
            more = True
            while True:
                while more and self._idle:
                    more = self._next(function, waiting, name)
                while turn in done:
                    yield done.pop(turn)
                    turn += 1
                if self._busy:
                    self._collect(done)
                elif not more and not done:
                    return
        finally:
            # Left early: what is under way is nobody's.
            for _, worker in self._busy.values():
                worker.close()
                self._idle.append(Worker())
            self._busy.clear()

    def _next(
        self,
        function: Callable[[Item], Value],
        waiting: Iterable[tuple[int, Item]],
        name: Callable[[Item], str] | None,
    ) -> bool:
        """Return the next item to a worker; False where there is none."""
        for at, item in waiting:
            worker = self._idle.popleft()
            if not worker.idle:
                # It died since, of which this item is not the cause.
                worker.close()
                worker = Worker()
            file = None if name is None else name(item)
            worker.submit(function, item, limits=self.limits, file=file)
            self._busy[worker.connection] = at, worker
            return True
        return False

    def _collect(self, done: dict[int, TaskOutcome[Value]]) -> None:
        """Wait for answers, or for the first that is overdue."""
        dues = [worker.due for _, worker in self._busy.values() if worker.due is not None]
        ready = wait(list(self._busy), None if not dues else max(0, min(dues) - monotonic()))
        for connection, (at, worker) in list(self._busy.items()):
            if connection in ready or worker.stuck():
                del self._busy[connection]
                done[at] = _outcome(worker)
                self._idle.append(worker if fit(worker) else Worker())


def _outcome(worker: Worker) -> TaskOutcome[Any]:
    file = worker.file
    try:
        return TaskOutcome(worker.answer())
    except AutoparserError as error:
        return TaskOutcome(error=error)
    except Exception as fault:  # noqa: BLE001 - a fault costs its own task
        return TaskOutcome(error=of_fault(fault, file))


def fit(worker: Worker) -> bool:
    """Whether it can take another task; one that has grown too large is ended."""
    if worker.alive and worker.grown > GROWN_TOO_LARGE:
        worker.close()
    return worker.alive


def usual_jobs() -> int:
    """Return how many processes are worth while: one for each processor that this one may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
