"""The worker's side: it takes requests from its pipe until the parent hangs up."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

from autoparser.analysis.core.errors import Limit

from .error_words import beyond, of_fault
from .guard import guarded
from .limits import LimitReached, Limits, TaskLimitReached
from .memory import data_bytes
from .worker_messages import Reply, TaskRequest, dumped, loaded

__all__ = ["handed_on", "let_go", "serve"]

_STANDARD = (0, 1, 2)
_DESCRIPTORS = (Path("/proc/self/fd"), Path("/dev/fd"))


def serve(connection: Connection, *, interruptible: bool = False) -> None:
    """Run tasks until the pipe closes. An interrupt is the parent's affair, unless it says so."""
    if not interruptible:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        # Whoever started this process has held them back until here.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # Read once a task: the system takes its time to tell.
    had = has = data_bytes()
    while True:
        try:
            content = connection.recv_bytes()
        except (EOFError, OSError):
            return
        reply = _answer(content, has)
        has = data_bytes()
        with suppress(BrokenPipeError):
            connection.send_bytes(_sent(reply, max(0, (has or 0) - (had or 0))))
        del content, reply


def let_go(keep: int, *, output: bool) -> None:
    """Give back the files that a fork shares with its parent, but for the pipe `keep`.

    Each number goes on to be taken, by the null device: an object of the parent's that still
    believes in it could close another's file. Standard error stays, and with `output` all three and
    what `handed_on` has.
    """
    sink = os.open(os.devnull, os.O_RDWR)
    kept = {keep, sink, 2, *((0, 1, *handed_on()) if output else ())}
    for number in _open_files():
        if number not in kept:
            with suppress(OSError):
                os.dup2(sink, number, inheritable=False)


def handed_on() -> list[int]:
    """Return the files that whoever started this process has handed on, such as a shell's `<(…)`.

    Python lets no program that it starts inherit what it has opened itself.
    """
    return [number for number in _open_files() if number not in _STANDARD and _inherits(number)]


def _inherits(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


def _open_files() -> list[int]:
    for directory in _DESCRIPTORS:
        with suppress(OSError):
            return [int(name) for name in os.listdir(directory)]  # noqa: PTH208 - names alone
    return list(range(256))


def _answer(content: bytes, has: int | None) -> Reply:
    """Run one task. What it raises is part of the answer."""
    file: str | None = None
    limits = Limits()
    try:
        request: TaskRequest = loaded(content)
        file, limits = request.file, request.limits
        with guarded(limits, has):
            value = request.function(*request.arguments, **request.named)
            # Here, so that a result too large to send is within the limits, too.
            return Reply(value=dumped(value))
    except (TaskLimitReached, LimitReached):
        error: BaseException = beyond(Limit.TASK_TIME, limits, file)
    except MemoryError:
        error = beyond(Limit.MEMORY, limits, file)
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as raised:  # noqa: BLE001 - a fault of the task is not the worker's
        error = raised
        _remember_where(error)
    except BaseException as raised:  # noqa: BLE001 - as where a library in Rust panics
        error = of_fault(raised, file)
    # The frames of the task hold what it took.
    error.__traceback__ = None
    error.__context__ = None
    gc.collect()
    return Reply(error=error)


def _remember_where(error: BaseException) -> None:
    if type(error).__module__.startswith("autoparser."):
        return
    frames = "".join(traceback.format_tb(error.__traceback__))
    error.add_note(f"In a worker:\n{frames}".rstrip())


def _sent(reply: Reply, grown: int) -> bytes:
    """Pickle an answer; an error that cannot be pickled is told in its words."""
    try:
        return dumped(Reply(reply.value, reply.error, grown))
    except Exception as fault:  # noqa: BLE001 - pickling runs code of the error's class
        words = f"{type(reply.error).__name__}: {reply.error} ({fault})"
        return dumped(Reply(error=RuntimeError(words), grown=grown))


def main() -> None:
    """Serve the pipe whose number or handle is the first argument: a worker that was not forked."""
    number, interruptible = int(sys.argv[1]), sys.argv[2] == "1"
    serve(_connection(number), interruptible=interruptible)


def _connection(number: int) -> Connection:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection  # noqa: PLC0415 - Windows' own

        return cast("Connection", PipeConnection(number))
    return Connection(number)
