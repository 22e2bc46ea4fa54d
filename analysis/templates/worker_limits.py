"""Limit the time, memory and output of a task in a worker.

    {% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}

ends after `render_seconds` with "it takes more than 5 s".

Contract: time is processor time of the worker and all its threads, so a machine under load, a
command that waits for input, and one that was suspended are not cut. A limit of None is no limit. A
render beyond a limit is ended by `LimitReached`, a task by `TaskLimitReached`; both may be raised
between any two steps of Python code. Code without such a step, such as one call of a filter, is
ended by the kernel, which kills the worker by SIGPROF in a render and by SIGXCPU elsewhere.

The kernel runs three clocks of processor time. One ticks, and only a tick compares times, so that a
render reads no clock. One is restarted for each render and kills. One counts the whole task.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import process_time
from typing import TypeVar

from msgspec import Struct

from autoparser.analysis.core.errors import LimitKind

MEGABYTE = 1_000_000


class Limits(Struct, frozen=True, kw_only=True):
    """Resource limits of a task, e.g. `Limits(seconds=30)`; None is no limit.

    The defaults are ten times what real templates need.
    """

    render_seconds: float | None = 5.0
    """Processor time of one render, in seconds, e.g. 5.0; compiling the template is held to it,
    too."""
    seconds: float | None = 60.0
    """Processor time of the whole task, in seconds, e.g. 60.0."""
    pipe_seconds: float | None = None
    """Seconds to wait for the other end of a named pipe, e.g. 60.0; None to use `seconds`."""
    memory: int | None = 1000 * MEGABYTE
    """Bytes that the worker may allocate after the task has begun, e.g. 1,000,000,000."""
    characters: int | None = 10_000_000
    """Characters of one render's text, e.g. 10,000,000."""

    def __post_init__(self) -> None:
        for name in ("render_seconds", "seconds", "pipe_seconds", "memory", "characters"):
            value: float | None = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"the limit {name} must be above 0 or None, not {value}")


DEFAULT_LIMITS = Limits()
NO_LIMITS = Limits(render_seconds=None, seconds=None, memory=None, characters=None)


class LimitReached(BaseException):
    """A render exceeds a limit. Not an Exception, since Jinja suppresses some of those."""

    def __init__(self, limit: LimitKind, words: str) -> None:
        super().__init__(limit, words)
        self.limit = limit
        self.words = words
        """The exceeded limit in words, e.g. `"it takes more than 10 seconds"`."""


class TaskLimitReached(BaseException):
    """The whole task exceeds its time; distinct from the end of one render."""


def memory_words(most: int | None) -> str:
    """Describe a task that exceeds the allowed memory, or the machine's if that is None."""
    if most is None:
        return "it takes more memory than is available"
    return f"it takes more than {most / MEGABYTE:g} MB of memory"


# Memory is limited by RLIMIT_DATA, which counts writable memory: heap, anonymous maps, thread
# stacks. A limit on address space would count a hundred gigabytes that libraries reserve and never
# touch. Only Linux enforces it.


_STATUS = Path("/proc/self/status")


def data_bytes() -> int | None:
    """Return the bytes of data that this process has mapped, or None if the system does not say."""
    try:
        lines = _STATUS.read_bytes().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(b"VmData:"):
            # The unit is always kB, and means 1024.
            return int(line.split()[1]) * 1024
    return None


@contextmanager
def bound_memory(more: int | None, has: int | None) -> Generator[None]:
    """Limit the memory that this process may allocate; beyond it Python raises MemoryError.

    `has` is what `data_bytes` said.
    """
    if more is None or has is None or sys.platform == "win32":
        yield
        return
    # Windows has none.
    from resource import RLIMIT_DATA, getrlimit, setrlimit  # noqa: PLC0415

    soft, hard = getrlimit(RLIMIT_DATA)
    # The kernel's limit is of the whole process, whose engine and libraries are loaded already.
    bound = has + more
    for other in (soft, hard):
        # A negative number means no limit.
        bound = min(bound, other) if other >= 0 else bound
    setrlimit(RLIMIT_DATA, (bound, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_DATA, (soft, hard))


Piece = TypeVar("Piece")

TICK = 0.02
"""Seconds between two checks of the clock."""

GRACE = 0.5
"""Seconds that a render may exceed its limit before the worker is killed."""

FIRST_PIECES = 64
"""Pieces of a text that are counted together at first; the batch doubles each time."""

_current: RenderGuard | None = None


def current_guard() -> RenderGuard | None:
    """Return the guard of the running task, or None outside of workers."""
    return _current


@contextmanager
def hold_to_limits(limits: Limits, has: int | None, parent: int) -> Generator[RenderGuard]:
    """Apply the limits to the block. Only for a worker's main thread, since it sets signals.

    `has` is what `data_bytes` said of this process, `parent` the number of the process that started
    it: without that one, the task ends.
    """
    global _current  # noqa: PLW0603 - a process has one main thread, and that one task
    guard = RenderGuard(limits, parent)
    with bound_memory(limits.memory, has), _clocks(guard):
        _current = guard
        try:
            yield guard
        finally:
            _current = None


class RenderGuard:
    """The clock of a task: its present render, and the limits."""

    def __init__(self, limits: Limits, parent: int) -> None:
        self.limits = limits
        self._began = process_time()
        self._parent = parent
        self._renders = 0
        self._rendering = False
        self._seen_renders = 0
        self._seen_at = 0.0
        seconds = limits.render_seconds
        self._kill_after = None if seconds is None else seconds + GRACE

    def collect(self, pieces: Iterable[Piece], length: Callable[[Piece], int]) -> list[Piece]:
        """Return the pieces of a render, measured by `length`. Raises LimitReached."""
        most = self.limits.characters
        # Not a context manager: thousands of renders have this as their only overhead.
        self.begin()
        try:
            return list(pieces) if most is None else _collect_bounded(pieces, length, most)
        finally:
            self.end()

    @contextmanager
    def rendering(self) -> Generator[None]:
        """Count the block as one render."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @property
    def memory_reached(self) -> LimitReached:
        """The exception for a render in which Python runs out of memory."""
        return LimitReached(LimitKind.MEMORY, memory_words(self.limits.memory))

    def begin(self) -> None:
        """Start the clock of a render."""
        self._renders += 1
        if self._kill_after is not None and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, self._kill_after)
        self._rendering = True

    def end(self) -> None:
        """Stop the clock of a render; harmless if it is stopped already."""
        self._rendering = False
        if self._kill_after is not None and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, 0)

    def tick(self) -> None:
        """Check the clock. Raises LimitReached, TaskLimitReached."""
        if os.getppid() != self._parent:
            # The parent has died, so the result is useless, and only this process can end itself.
            os._exit(1)
        now = process_time()
        most = self.limits.seconds
        if most is not None and now - self._began > most:
            raise TaskLimitReached
        if not self._rendering:
            return
        if self._seen_renders != self._renders:
            # The first tick of this render starts its clock.
            self._seen_renders, self._seen_at = self._renders, now
            return
        most = self.limits.render_seconds
        # Raised again at each tick until the render has ended: Python discards an exception that
        # is raised inside a finalizer.
        if most is not None and now - self._seen_at > most:
            raise LimitReached(LimitKind.RENDER_TIME, f"it takes more than {most:.3g} s")


def _collect_bounded(
    pieces: Iterable[Piece], length: Callable[[Piece], int], most: int
) -> list[Piece]:
    # Counted in batches, in C: a Python loop over single pieces would cost as much as the render.
    source = iter(pieces)
    kept: list[Piece] = []
    total, size = 0, FIRST_PIECES
    while some := list(islice(source, size)):
        total += sum(map(length, some))
        if total > most:
            raise LimitReached(LimitKind.OUTPUT, f"its text has more than {most} characters")
        kept += some
        size *= 2
    return kept


def _tick(number: int, frame: object) -> None:
    del number, frame
    if _current is not None:
        _current.tick()


@contextmanager
def _clocks(guard: RenderGuard) -> Generator[None]:
    if sys.platform == "win32":
        yield
        return
    # Windows has none.
    from resource import RLIM_INFINITY, RLIMIT_CPU, getrlimit, setrlimit  # noqa: PLC0415

    soft, hard = getrlimit(RLIMIT_CPU)
    seconds = guard.limits.seconds
    if seconds is not None:
        # In whole seconds, and for all that this process has run.
        due = math.ceil(process_time() + seconds + GRACE)
        ceiling = due if hard == RLIM_INFINITY else min(due, hard)
        setrlimit(RLIMIT_CPU, (ceiling, hard))
    # The handler stays installed: a pending tick at the end of a task would kill the process.
    signal.signal(signal.SIGVTALRM, _tick)
    # Its default kills the process without a step of Python code, for code that takes none.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        setrlimit(RLIMIT_CPU, (soft, hard))


def usual_jobs() -> int:
    """Return the default number of processes: one for each processor that this one may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
