"""Run tasks in worker processes that are reused: one task by a `TaskWorker`, many by a pool.

Contract: results come in the order of the items, whichever is done first. A task that fails, goes
beyond a limit or loses its worker costs only its own result: it comes out as a `TaskOutcome` with
the error. Leaving the pool, even by an exception, leaves no process behind.

    with WorkerPool(workers=4, limits=Limits(seconds=30)) as pool:
        for path, outcome in zip(paths, pool.map(analysis_of, paths, name=str)):
            if outcome.error is None:
                use(outcome.value)
            else:
                print(outcome.error)

The function must belong to a module, and it, the items and the results must pickle. Import what
it needs before making the pool, and make the pool before starting any thread: its workers are then
forked, in milliseconds each.
"""

from __future__ import annotations

import json
import os
import subprocess
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from time import monotonic
from types import MappingProxyType, TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from msgspec import Struct

from autoparser.analysis.core.errors import AutoparserError, fault_error

from .limit_errors import death_error, silence_error
from .worker_limits import (
    DEFAULT_LIMITS,
    Limits,
    usual_jobs,
)
from .worker_process import (
    ProcessActivity,
    TaskRequest,
    WorkerProcess,
    WorkerReply,
    pickle_value,
    process_activity,
    start_process,
    unpickle_value,
)

# Contract of a worker: one task at a time. A worker that died or was killed is not restarted; its
# user starts another. It ends with its parent, when its pipe is closed.


NOTHING: Mapping[str, object] = MappingProxyType({})

LOADED_MACHINE = 10.0
"""Multiple of a task's processor time after which its worker is checked for being stuck."""

TIDY_SECONDS = 1.0
"""Seconds that a worker at a terminal has to end by itself after an interrupt."""

START_SECONDS = 60.0
"""Seconds that starting may take, besides."""


class TaskWorker:
    """A process that runs tasks, one at a time."""

    def __init__(self, *, terminal: bool = False) -> None:
        """Start it; with `terminal` it shares this process' standard files and may read them."""
        self._process, self.connection = start_process(terminal=terminal)
        self._terminal = terminal
        self._request: TaskRequest | None = None
        self._due: float | None = None
        self._activity: ProcessActivity | None = None
        self._owner = os.getpid()
        self._end = weakref.finalize(
            self, _end_process, self._process, self.connection, self._owner
        )
        self.grown = 0
        """Bytes of data by which it has grown since its start."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it takes tasks; not a worker inherited by a fork."""
        return self._end.alive and self._owner == os.getpid()

    @property
    def idle(self) -> bool:
        """Whether it is alive and waits for a task, as far as can be seen without asking it."""
        # An idle worker sends nothing, so readable data means that it closed its pipe.
        return self.alive and not self._hung_up(0)

    @property
    def file(self) -> str | None:
        """The subject of its task, or None between tasks."""
        return None if self._request is None else self._request.file

    @property
    def due(self) -> float | None:
        """When to check whether it is stuck, by the monotonic clock, or None for no check."""
        return self._due

    def stuck(self) -> bool:
        """Return whether it is overdue and has been inactive since the last check.

        A machine under load makes a worker late: that is not a reason to end it, and its own clocks
        count what it computes. If the system does not report its activity, being due is enough.
        """
        if self._due is None or monotonic() < self._due:
            return False
        seen, self._activity = self._activity, process_activity(self.pid)
        if self._activity is None or (self._activity == seen and not self._activity.running):
            return True
        self._due = monotonic() + START_SECONDS
        return False

    def submit(
        self,
        function: Callable[..., object],
        *arguments: object,
        limits: Limits,
        file: str | None = None,
        keywords: Mapping[str, object] = NOTHING,
    ) -> None:
        """Send it a task. Raises the errors of pickle for arguments that cannot be sent."""
        self._request = TaskRequest(function, arguments, keywords, limits, file)
        content = pickle_value(self._request)
        self._due = self._activity = None
        # A worker at a terminal may be waiting for the user, so it has no deadline.
        if limits.seconds is not None and not self._terminal:
            self._due = monotonic() + limits.seconds * LOADED_MACHINE + START_SECONDS
        # A worker that is dead already is noticed when its answer is read.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(content)

    def answer(self) -> object:
        """Return the value of its task.

        Raises the task's own exception, or TaskLimitError or WorkerDiedError if it did not end.
        """
        request = cast("TaskRequest", self._request)
        self._request = None
        content = self._receive(request)
        reply: WorkerReply = unpickle_value(content)
        self.grown = reply.grown
        if reply.error is not None:
            raise reply.error
        return unpickle_value(cast("bytes", reply.value))

    def _receive(self, request: TaskRequest) -> bytes:
        try:
            while not self.stuck():
                if self._due is None or self.connection.poll(max(0, self._due - monotonic())):
                    return self.connection.recv_bytes()
        except (EOFError, ConnectionError):
            fault = death_error(self._reap(), request.limits, request.file)
        except BaseException:
            # For example an interrupt: the result is no longer needed. A worker at the same
            # terminal was interrupted, too, and may clean up.
            if self._terminal:
                self._hung_up(TIDY_SECONDS)
            self.close()
            raise
        else:
            self.close()
            allowed = (request.limits.seconds or 0) * LOADED_MACHINE + START_SECONDS
            fault = silence_error(allowed, request.file)
        raise fault

    def call(
        self,
        function: Callable[..., object],
        *arguments: object,
        limits: Limits,
        file: str | None = None,
        keywords: Mapping[str, Any] = NOTHING,
    ) -> object:
        """Run one task and return its value. Raises as `answer` does."""
        self.submit(function, *arguments, limits=limits, file=file, keywords=keywords)
        return self.answer()

    def close(self) -> None:
        """End it at once."""
        self._end()

    def _hung_up(self, seconds: float) -> bool:
        with suppress(OSError):
            return self.connection.poll(seconds)
        return True

    def _reap(self) -> int:
        """Return the exit code of a worker that has closed its pipe."""
        self._end.detach()
        self.connection.close()
        return self._process.wait()


def _end_process(process: WorkerProcess, connection: Connection, owner: int) -> None:
    with suppress(OSError):
        connection.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()


class ClosedAtExit(ABC):
    """A context manager that returns itself and is closed at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""


Item = TypeVar("Item")
Value = TypeVar("Value")

GROWN_TOO_LARGE = 300_000_000
"""Bytes by which a worker may grow over its tasks before it is replaced."""


class TaskOutcome(Struct, Generic[Value], frozen=True):
    """The outcome of one task: its value or its error, from `WorkerPool.map`."""

    value: Value | None = None
    """The value that the function returned, e.g. the `SeenHits` of `inspect_template`, or None if
    there is an error."""
    error: AutoparserError | None = None
    """The error of the function, e.g. a `TemplateSyntaxError`, the limit that it went beyond, or
    how its worker died."""

    def result(self) -> Value:
        """Return the value. Raises the error."""
        if self.error is not None:
            raise self.error
        return cast("Value", self.value)


class WorkerPool(ClosedAtExit):
    """Worker processes for tasks of one kind; a context manager."""

    def __init__(self, workers: int | None = None, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Start so many workers, or by default as many as are worthwhile."""
        count = workers or usual_jobs()
        self.limits = limits
        self._idle = deque(TaskWorker() for _ in range(count))
        self._busy: dict[Connection, tuple[int, TaskWorker]] = {}

    def __repr__(self) -> str:
        """Return the number of workers and how many are busy, in one line."""
        busy = len(self._busy)
        return f"<{type(self).__name__}: {len(self._idle) + busy} workers, {busy} busy>"

    def close(self) -> None:
        """End the workers, even if they are busy."""
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
        """Yield the outcome of each item, in order, once it and those before it are done.

        `name` returns an item's file name for errors. Only one map at a time: the workers are
        shared.
        """
        waiting = enumerate(items)
        outcomes: dict[int, TaskOutcome[Value]] = {}
        turn = 0
        try:
            more = True
            while True:
                while more and self._idle:
                    more = self._next(function, waiting, name)
                while turn in outcomes:
                    yield outcomes.pop(turn)
                    turn += 1
                if self._busy:
                    self._collect(outcomes)
                elif not more and not outcomes:
                    return
        finally:
            # The caller stopped early, so the results of the running tasks are not needed.
            for _, worker in self._busy.values():
                worker.close()
                self._idle.append(TaskWorker())
            self._busy.clear()

    def _next(
        self,
        function: Callable[[Item], Value],
        waiting: Iterable[tuple[int, Item]],
        name: Callable[[Item], str] | None,
    ) -> bool:
        """Submit the next item to an idle worker; return False if there are no more items."""
        for at, item in waiting:
            worker = self._idle.popleft()
            if not worker.idle:
                # The worker died earlier, not because of this item.
                worker.close()
                worker = TaskWorker()
            file = None if name is None else name(item)
            worker.submit(function, item, limits=self.limits, file=file)
            self._busy[worker.connection] = at, worker
            return True
        return False

    def _collect(self, outcomes: dict[int, TaskOutcome[Value]]) -> None:
        """Wait for answers, or until the first is overdue."""
        dues = [worker.due for _, worker in self._busy.values() if worker.due is not None]
        ready = wait(list(self._busy), None if not dues else max(0, min(dues) - monotonic()))
        for connection, (at, worker) in list(self._busy.items()):
            if connection in ready or worker.stuck():
                del self._busy[connection]
                outcomes[at] = _task_outcome(worker)
                # The pool keeps its size: a worker that died or was ended is replaced.
                self._idle.append(worker if can_take_task(worker) else TaskWorker())


def _task_outcome(worker: TaskWorker) -> TaskOutcome[Any]:
    file = worker.file
    try:
        return TaskOutcome(worker.answer())
    except AutoparserError as error:
        return TaskOutcome(error=error)
    except Exception as fault:  # noqa: BLE001 - a fault costs its own task
        return TaskOutcome(error=fault_error(fault, file))


def can_take_task(worker: TaskWorker) -> bool:
    """Return whether it can take another task; one that has grown too large is ended."""
    if worker.alive and worker.grown > GROWN_TOO_LARGE:
        worker.close()
    return worker.alive


KEPT = 4
"""Idle workers that are kept."""

_idle: list[TaskWorker] = []
"""Workers are taken out before use, in one atomic step of a list: threads never share one."""


def run_task(
    function: Callable[..., Value],
    *arguments: object,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    terminal: bool = False,
    **keywords: object,
) -> Value:
    """Run a function of a module in a worker and return its value; `file` names it in errors.

    With `terminal` the worker is a new one that reads and prints where this process does. Raises
    what the function raises, TaskLimitError for a task that is beyond its limits, WorkerDiedError
    for one that lost its worker.
    """
    worker = TaskWorker(terminal=True) if terminal else _take_worker()
    try:
        value = worker.call(function, *arguments, limits=limits, file=file, keywords=keywords)
    finally:
        if terminal or not can_take_task(worker) or len(_idle) >= KEPT:
            worker.close()
        else:
            _idle.append(worker)
    return cast("Value", value)


def close_workers() -> None:
    """End the workers that are kept; a later task starts another one."""
    while _idle:
        _idle.pop().close()


def _take_worker() -> TaskWorker:
    while _idle:
        worker = _idle.pop()
        if worker.idle:
            return worker
        worker.close()
    return TaskWorker()


def python_answer(python: str, program: str, arguments: Iterable[str], seconds: float) -> Any:
    """Return the JSON that a program prints. Raises AutoparserError if the Python cannot be run."""
    try:
        ran = subprocess.run(  # noqa: S603 - the person who asks names the program
            [python, "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
        )
        return json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise AutoparserError(
            f"this Python cannot be run ({type(error).__name__})",
            file=python,
            hint="name the bin/python of the environment that the engine is installed in",
        ) from error
