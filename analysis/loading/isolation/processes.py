"""Starting a process that serves, and how it ended.

A process with one thread forks: the engine is in memory already, so that costs milliseconds. In
one with several, a fork may inherit a lock that nobody will ever release, so a new Python is
started there, and where there is no fork.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol, cast

from .serving import handed_on, let_go, serve

__all__ = ["Process", "started"]

_SERVE = "from autoparser.analysis.loading.isolation.serving import main; main()"

_TASKS = Path("/proc/self/task")


class Process(Protocol):
    """A process that was started here."""

    pid: int

    def kill(self) -> None:
        """End it at once."""
        ...

    def wait(self) -> int:
        """Wait for its end; return its exit code, or the number of the signal below zero."""
        ...


class _Forked:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def kill(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def wait(self) -> int:
        if self._status is None:
            try:
                _, status = os.waitpid(self.pid, 0)
                self._status = os.waitstatus_to_exitcode(status)
            except ChildProcessError:
                # Somebody else has waited for it, as a handler of SIGCHLD may.
                self._status = 0
        return self._status


def started(*, terminal: bool = False) -> tuple[Process, Connection]:
    """Start a process that serves; return it and this end of its pipe.

    With `terminal` it has the standard files of this one and takes interrupts as this one does;
    else it reads nothing, prints nothing, and an interrupt leaves it alone.
    """
    here, there = Pipe()
    start: Callable[[Connection, Connection, bool], Process]
    start = _forked if _may_fork() else _fresh
    with _no_interrupt():
        process = start(here, there, terminal)
    there.close()
    return process, here


@contextmanager
def _no_interrupt() -> Generator[None]:
    """Hold back interrupts, also of what is started, until it has said what becomes of them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _may_fork() -> bool:
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return False
    try:
        # Those of libraries, of which Python does not know.
        return len(os.listdir(_TASKS)) == 1  # noqa: PTH208 - a count alone
    except OSError:
        return True


def _forked(here: Connection, there: Connection, terminal: bool) -> Process:
    _flush()
    pid = os.fork()
    if pid:
        return _Forked(pid)
    code = 1
    # Whatever happens, nothing of the parent's code runs on in the child.
    try:
        here.close()
        # What is here already stays: to look through it again and again costs time, and copies
        # the pages that both processes share.
        gc.freeze()
        let_go(there.fileno(), output=terminal)
        serve(there, interruptible=terminal)
        _flush()
        code = 0
    finally:
        os._exit(code)


def _flush() -> None:
    """Write out what is buffered, so that it is not written twice."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _fresh(here: Connection, there: Connection, terminal: bool) -> Process:
    del here
    number = there.fileno()
    command = [sys.executable, "-c", _SERVE, str(number), str(int(terminal))]
    files = None if terminal else subprocess.DEVNULL
    # Modules are looked for where this process finds them.
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    if sys.platform == "win32":
        os.set_handle_inheritable(number, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [number]})
        return cast(
            "Process",
            subprocess.Popen(  # noqa: S603 - the interpreter that runs this
                command, stdin=files, stdout=files, env=variables, startupinfo=startup
            ),
        )
    shared = (number, *(handed_on() if terminal else ()))
    return cast(
        "Process",
        subprocess.Popen(  # noqa: S603 - the interpreter that runs this
            command, stdin=files, stdout=files, env=variables, pass_fds=shared
        ),
    )
