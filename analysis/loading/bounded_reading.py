"""Reading no more of a file than a text may have: it may be a stranger's."""

from __future__ import annotations

import os
import stat
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from autoparser.analysis.core.errors import TemplateReadError

__all__ = [
    "LARGEST",
    "TEMPLATE_HINT",
    "opened",
    "pipe_patience",
    "pipe_seconds",
    "read_bounded",
    "read_path",
]

LARGEST = 64 << 20
"""Bytes of a text that is read; the largest of real models have a few million."""

TEMPLATE_HINT = "pass a template, or a directory of a model"

pipe_seconds: ContextVar[float | None] = ContextVar("pipe_seconds", default=None)
"""The ``--timeout`` of a command that reads and writes files outside of its workers."""


def read_bounded(stream: BinaryIO, file: str, hint: str = TEMPLATE_HINT) -> bytes:
    """Return all of a stream. Raises TemplateReadError for more than `LARGEST` bytes.

    A file that says itself that it is larger is not read at all.
    """
    if _size(stream) <= LARGEST:
        content = stream.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content
    raise _too_large(file, hint)


def read_path(path: Path, hint: str = TEMPLATE_HINT) -> bytes:
    """Return all of a file, or all that is written into a named pipe.

    Raises OSError, and TemplateReadError for more than `LARGEST` bytes, or for a pipe in which
    nothing comes for as long as `pipe_patience` says.
    """
    if stat.S_ISFIFO(path.stat().st_mode):
        return _read_pipe(path, hint)
    with path.open("rb") as stream:
        return read_bounded(stream, str(path), hint)


def pipe_patience() -> float | None:
    """Return for how many seconds the other end of a pipe is waited for, or None for ever.

    It is ``--timeout``: nothing else ends a task that only waits, since its limits are of
    processor time.
    """
    # Lazy: a command that reads no pipe need not import what starts workers.
    from autoparser.analysis.loading.isolation import DEFAULT_LIMITS, current_guard  # noqa: PLC0415

    guard = current_guard()
    if guard is None:
        return pipe_seconds.get() or DEFAULT_LIMITS.seconds
    return guard.limits.pipe_seconds or guard.limits.seconds


def _read_pipe(path: Path, hint: str) -> bytes:
    import select  # noqa: PLC0415 - only pipes need it

    seconds = pipe_patience()
    content = bytearray()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        while ready.poll(None if seconds is None else seconds * 1000):
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return bytes(content)
            content += piece
            if len(content) > LARGEST:
                raise _too_large(str(path), hint)
    finally:
        os.close(descriptor)
    raise TemplateReadError(
        f"this is a named pipe, and nothing was written into it for {seconds:g} seconds",
        file=str(path),
        hint="start its writer first, or wait longer with --timeout SECONDS",
    )


def _too_large(file: str, hint: str) -> TemplateReadError:
    return TemplateReadError(
        f"this is larger than {LARGEST >> 20} MiB, the most that is read of a text",
        file=file,
        hint=hint,
    )


def opened(path: Path) -> BinaryIO:
    """Open a file to be read; a named pipe that nobody writes to is empty, not waited for.

    What a shell puts in the place of ``<(command)`` is such a pipe, with somebody who writes.
    Raises OSError.
    """
    return open(path, "rb", opener=_open_at_once)


def _open_at_once(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "set_blocking"):
        # Only to open it must not wait: what is written is.
        os.set_blocking(descriptor, True)
    return descriptor


def _size(stream: BinaryIO) -> int:
    """Return the bytes of a file; 0 of what has no size, such as a pipe."""
    try:
        return os.fstat(stream.fileno()).st_size
    except OSError:  # a stream in memory
        return 0
