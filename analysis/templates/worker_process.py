"""Start a process that serves tasks, exchange values with it, and observe how it ends.

    parent: start_process -> TaskRequest, pickled -> worker: serve_tasks -> WorkerReply, pickled

A process with one thread forks: the engine is in memory already, so this takes milliseconds. With
several threads, a fork may inherit a lock that is never released, so a new Python is started then,
and on systems without fork.

For example, a task that returns a value, and one that raises:

    TaskRequest(math.sqrt, (4.0,), {}, limits, None)   ->  WorkerReply(value=<2.0, pickled>)
    TaskRequest(math.sqrt, (-4.0,), {}, limits, None)  ->  WorkerReply(error=ValueError(…))
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from copyreg import dispatch_table
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast

from msgspec import Struct

from autoparser.analysis.core.errors import LimitKind

from .limit_errors import limit_error
from .worker_limits import (
    LimitReached,
    Limits,
    TaskLimitReached,
    data_bytes,
    hold_to_limits,
)

# Contract of messages: a worker runs the engine on untrusted templates, but is not a sandbox
# itself: its replies are unpickled as trusted. Frozen mappings are pickled as such.


class TaskRequest(Struct, frozen=True):
    """A function with its arguments and limits."""

    function: Callable[..., object]
    """A function that pickles: one of a module, e.g. `inspect_template`."""
    arguments: tuple[object, ...]
    """Its positional arguments, e.g. `(InspectionTask(…),)`."""
    keywords: Mapping[str, object]
    """Its keyword arguments, e.g. `{"full": False}`."""
    limits: Limits
    """The limits that the worker holds it to, e.g. `Limits(seconds=30)`."""
    file: str | None
    """The subject of the task, as errors name it, e.g. `"fixtures/templates/a7-token-pairs.jinja"`.
    """


class WorkerReply(Struct, frozen=True):
    """The outcome of a task."""

    value: object = None
    r"""The pickled value that the task returned, e.g. `b"\x80\x05K\x00."` for 0."""
    error: BaseException | None = None
    """The exception that it raised, e.g. a `TemplateSyntaxError`, or None if it returned a value.
    """
    grown: int = 0
    """Bytes by which the worker has grown since it began to serve, e.g. 10,313,728, or 0 if
    unknown."""


def pickle_value(value: object) -> bytes:
    """Pickle a value. Raises the errors of pickle for a value that cannot be pickled."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    # A separate table, so that pickling elsewhere is unaffected.
    pickler.dispatch_table = {**dispatch_table, MappingProxyType: _reduce_frozen}
    with _without_collection():
        pickler.dump(value)
    return buffer.getvalue()


def unpickle_value(content: bytes) -> Any:
    """Unpickle a value."""
    with _without_collection():
        return pickle.loads(content)  # noqa: S301 - from this program's own worker


@contextmanager
def _without_collection() -> Generator[None]:
    """Pause garbage collection while thousands of objects are made that are all in use."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _reduce_frozen(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    # Pickle a function call, since Python cannot import this type by its name.
    return _freeze, (dict(value),)


def _freeze(value: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(value)


_STANDARD = (0, 1, 2)
_DESCRIPTORS = (Path("/proc/self/fd"), Path("/dev/fd"))


def serve_tasks(connection: Connection, parent: int, *, interruptible: bool = False) -> None:
    """Run tasks until the pipe closes, ignoring interrupts unless `interruptible`.

    A task ends, too, when the process `parent` is no longer this one's parent.
    """
    if not interruptible:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        # The parent has blocked the signal until now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # Read once per task, since the system call is slow.
    had = has = data_bytes()
    while True:
        try:
            content = connection.recv_bytes()
        except (EOFError, OSError):
            return
        reply = _answer(content, has, parent)
        has = data_bytes()
        with suppress(BrokenPipeError):
            connection.send_bytes(_pickle_reply(reply, max(0, (has or 0) - (had or 0))))
        # Otherwise they would stay in memory until the next task.
        del content, reply


def release_files(keep: int, *, output: bool) -> None:
    """Close the files that a fork shares with its parent, except for the pipe `keep`.

    Each number stays in use, for the null device: an object of the parent's that still refers to it
    could otherwise close another file. Standard error is kept, and with `output` all three standard
    files and those of `inherited_files`.
    """
    sink = os.open(os.devnull, os.O_RDWR)
    kept = {keep, sink, 2, *((0, 1, *inherited_files()) if output else ())}
    # Commands and libraries write their messages to different files.
    kept.add(_standard_error() or sink)
    for number in _open_files():
        if number not in kept:
            with suppress(OSError):
                os.dup2(sink, number, inheritable=False)


def _standard_error() -> int | None:
    """Return the file that `sys.stderr` writes to, or None if it is a stream in memory."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def inherited_files() -> list[int]:
    """Return the files inherited from the program that started this one, such as a shell's `<(…)`.

    Python lets no program that it starts inherit files that it has opened itself.
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


def _answer(content: bytes, has: int | None, parent: int) -> WorkerReply:
    """Run one task; an exception is returned in the answer."""
    file: str | None = None
    limits = Limits()
    try:
        request: TaskRequest = unpickle_value(content)
        file, limits = request.file, request.limits
        with hold_to_limits(limits, has, parent):
            value = request.function(*request.arguments, **request.keywords)
            # Pickled here, so that the limits hold for a result too large to send, too.
            return WorkerReply(value=pickle_value(value))
    except (TaskLimitReached, LimitReached):
        error: BaseException = limit_error(LimitKind.TASK_TIME, limits, file)
    except MemoryError:
        error = limit_error(LimitKind.MEMORY, limits, file)
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as raised:  # noqa: BLE001 - a fault of the task is not the worker's
        error = raised
        _note_traceback(error)
    except BaseException as raised:  # noqa: BLE001 - as where a library in Rust panics
        # Its class is not importable, so it cannot be pickled.
        error = RuntimeError(f"{type(raised).__name__}: {raised}").with_traceback(
            raised.__traceback__
        )
        _note_traceback(error)
    # The frames of the task keep its memory alive.
    error.__traceback__ = None
    error.__context__ = None
    gc.collect()
    return WorkerReply(error=error)


def _note_traceback(error: BaseException) -> None:
    # The user needs no stack frames for this package's own errors.
    if type(error).__module__.startswith("autoparser."):
        return
    frames = "".join(traceback.format_tb(error.__traceback__))
    error.add_note(f"In a worker:\n{frames}".rstrip())


def _pickle_reply(reply: WorkerReply, grown: int) -> bytes:
    """Pickle an answer; an error that cannot be pickled becomes a RuntimeError with its message."""
    try:
        return pickle_value(WorkerReply(reply.value, reply.error, grown))
    except Exception as fault:  # noqa: BLE001 - pickling runs code of the error's class
        told = RuntimeError(f"{type(reply.error).__name__}: {reply.error} ({fault})")
        for note in getattr(reply.error, "__notes__", ()):
            told.add_note(note)
        return pickle_value(WorkerReply(error=told, grown=grown))


def main() -> None:
    """Serve the pipe whose number or handle is the first argument: a worker that was not forked."""
    number, interruptible = int(sys.argv[1]), sys.argv[2] == "1"
    serve_tasks(_connection(number), os.getppid(), interruptible=interruptible)


def _connection(number: int) -> Connection:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection  # noqa: PLC0415 - Windows' own

        return cast("Connection", PipeConnection(number))
    return Connection(number)


# The activity of a process is read from the kernel, not by ``psutil``: that would be a dependency
# of every installation for one line of one file.


_USER_TICKS, _SYSTEM_TICKS = 11, 12
"""Fields after the name, from 0: ``utime`` and ``stime`` of proc_pid_stat(5)."""


class ProcessActivity(Struct, frozen=True):
    """The activity of a process at one moment."""

    state: str
    """A letter of proc_pid_stat(5), such as ``S`` for one that sleeps."""
    ticks: int
    """Processor time that all its threads have taken, in ticks of the system's clock, e.g. 18."""

    @property
    def running(self) -> bool:
        """Whether it runs, is ready to run, or waits for a disk."""
        return self.state in ("R", "D")


def process_activity(pid: int) -> ProcessActivity | None:
    """Return the activity of a process, or None if the system does not report it."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name before is in brackets and may contain anything.
    fields = content.rpartition(b")")[2].split()
    return ProcessActivity(
        fields[0].decode(), int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    )


_SERVE = "from autoparser.analysis.templates.worker_process import main; main()"

_TASKS = Path("/proc/self/task")


class WorkerProcess(Protocol):
    """A process that was started here."""

    pid: int
    """The number of the process, e.g. 4711."""

    def kill(self) -> None:
        """End it at once."""
        ...

    def wait(self) -> int:
        """Wait for its end; return its exit code, or the number of the signal below zero."""
        ...


class _ForkedProcess:
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
                # Other code has waited for the process, such as a handler of SIGCHLD.
                self._status = 0
        return self._status


def start_process(*, terminal: bool = False) -> tuple[WorkerProcess, Connection]:
    """Start a worker process; return it and this end of its pipe.

    With `terminal` it has the standard files of this one and takes interrupts as this one does;
    else it reads nothing, prints nothing, and an interrupt leaves it alone.
    """
    here, there = Pipe()
    start: Callable[[Connection, Connection, bool], WorkerProcess]
    start = _start_fork if _may_fork() else _start_interpreter
    with _without_interrupts():
        process = start(here, there, terminal)
    # From now on only the worker holds that end, so its death closes the pipe.
    there.close()
    return process, here


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Block interrupts, also in the started process, until it has set its own handling."""
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
        # Threads of libraries, which Python does not know.
        return len(os.listdir(_TASKS)) == 1  # noqa: PTH208 - a count alone
    except OSError:
        return True


def _start_fork(here: Connection, there: Connection, terminal: bool) -> WorkerProcess:
    _flush()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return _ForkedProcess(pid)
    code = 1
    # Whatever happens, no code of the parent may continue in the child.
    try:
        here.close()
        # Freeze existing objects: collecting them costs time, and copies the parent's pages.
        gc.freeze()
        release_files(there.fileno(), output=terminal)
        serve_tasks(there, parent, interruptible=terminal)
        _flush()
        code = 0
    finally:
        os._exit(code)


def _flush() -> None:
    """Flush the standard streams, so that the fork does not write their buffers again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _start_interpreter(here: Connection, there: Connection, terminal: bool) -> WorkerProcess:
    del here
    number = there.fileno()
    errors = _standard_error()
    command = [sys.executable, "-c", _SERVE, str(number), str(int(terminal))]
    files = None if terminal else subprocess.DEVNULL
    # Let the worker import modules from the same places.
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
    if sys.platform == "win32":
        os.set_handle_inheritable(number, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [number]})
        return cast(
            "WorkerProcess",
            subprocess.Popen(  # noqa: S603 - the interpreter that runs this
                command,
                stdin=files,
                stdout=files,
                stderr=errors,
                env=variables,
                startupinfo=startup,
            ),
        )
    shared = (number, *(inherited_files() if terminal else ()))
    return cast(
        "WorkerProcess",
        subprocess.Popen(  # noqa: S603 - the interpreter that runs this
            command, stdin=files, stdout=files, stderr=errors, env=variables, pass_fds=shared
        ),
    )
