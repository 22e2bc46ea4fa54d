"""A worker as its parent sees it: a task goes in, its value or its error comes out.

Contract: one task at a time. A worker that died or was killed is done with; whoever needs it
starts another. It ends with its parent: a pipe without another end is the end of its work.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from types import MappingProxyType
from typing import Any, cast

from .error_words import of_death, of_silence
from .limits import Limits
from .process_activity import ProcessActivity, activity_of
from .processes import Process, started
from .worker_messages import Reply, TaskRequest, dumped, loaded

__all__ = ["Worker"]

NOTHING: Mapping[str, object] = MappingProxyType({})

LOADED_MACHINE = 10.0
"""After how many times the processor time of a task one looks whether its worker still works."""

TIDY_SECONDS = 1.0
"""What a worker at a terminal has to end by itself after an interrupt."""

START_SECONDS = 60.0
"""What starting may take, besides."""


class Worker:
    """A process that runs tasks."""

    def __init__(self, *, terminal: bool = False) -> None:
        """Start it; with `terminal` it has this process' standard files, and may wait for them."""
        self._process, self.connection = started(terminal=terminal)
        self._terminal = terminal
        self._request: TaskRequest | None = None
        self._due: float | None = None
        self._seen: ProcessActivity | None = None
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _ended, self._process, self.connection, self._owner)
        self.grown = 0
        """Bytes of data that it has more than at its start."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it takes tasks; that of a process which this one was forked from does not."""
        return self._end.alive and self._owner == os.getpid()

    @property
    def idle(self) -> bool:
        """Whether it is alive and waits for a task, as far as can be seen without asking it."""
        # It says nothing unasked: what can be read is the end of its pipe.
        return self.alive and not self._hung_up(0)

    @property
    def file(self) -> str | None:
        """What its task is about; None between tasks."""
        return None if self._request is None else self._request.file

    @property
    def due(self) -> float | None:
        """When to ask whether it is stuck, by the monotonic clock; None where it may wait."""
        return self._due

    def stuck(self) -> bool:
        """Whether it is due, does nothing, and has done nothing since one last looked.

        A machine under load makes a worker late: that is no reason to end it, and what it computes
        is counted by its own clocks. Where the system does not tell what it does, being due is all.
        """
        if self._due is None or monotonic() < self._due:
            return False
        seen, self._seen = self._seen, activity_of(self.pid)
        if self._seen is None or (self._seen == seen and not self._seen.running):
            return True
        self._due = monotonic() + START_SECONDS
        return False

    def submit(
        self,
        function: Callable[..., object],
        *arguments: object,
        limits: Limits,
        file: str | None = None,
        named: Mapping[str, object] = NOTHING,
    ) -> None:
        """Give it a task. Raises what pickle does for arguments that cannot be sent."""
        self._request = TaskRequest(function, arguments, named, limits, file)
        content = dumped(self._request)
        self._due = self._seen = None
        if limits.seconds is not None and not self._terminal:
            self._due = monotonic() + limits.seconds * LOADED_MACHINE + START_SECONDS
        # A worker that is dead already shows when its answer is read.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(content)

    def answer(self) -> object:
        """Return the value of its task.

        Raises what the task raised, and TaskLimitError or WorkerDiedError where it has no end.
        """
        request = cast("TaskRequest", self._request)
        self._request = None
        content = self._received(request)
        reply = cast("Reply", loaded(content))
        self.grown = reply.grown
        if reply.error is not None:
            raise reply.error
        return loaded(cast("bytes", reply.value))

    def _received(self, request: TaskRequest) -> bytes:
        try:
            while not self.stuck():
                if self._due is None or self.connection.poll(max(0, self._due - monotonic())):
                    return self.connection.recv_bytes()
        except (EOFError, ConnectionError):
            fault = of_death(self._buried(), request.limits, request.file)
        except BaseException:
            # As an interrupt: whatever it works at, nobody waits for it. One with this process'
            # terminal has heard of it, too, and may tidy up.
            if self._terminal:
                self._hung_up(TIDY_SECONDS)
            self.close()
            raise
        else:
            self.close()
            allowed = (request.limits.seconds or 0) * LOADED_MACHINE + START_SECONDS
            fault = of_silence(allowed, request.file)
        raise fault

    def call(
        self,
        function: Callable[..., object],
        *arguments: object,
        limits: Limits,
        file: str | None = None,
        named: Mapping[str, Any] = NOTHING,
    ) -> object:
        """Run one task and give its value. Raises as `answer` does."""
        self.submit(function, *arguments, limits=limits, file=file, named=named)
        return self.answer()

    def close(self) -> None:
        """End it, now."""
        self._end()

    def _hung_up(self, seconds: float) -> bool:
        with suppress(OSError):
            return self.connection.poll(seconds)
        return True

    def _buried(self) -> int:
        """Return the exit code of a worker that has hung up."""
        self._end.detach()
        self.connection.close()
        return self._process.wait()


def _ended(process: Process, connection: Connection, owner: int) -> None:
    with suppress(OSError):
        connection.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()
