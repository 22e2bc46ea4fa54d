"""Write files: whole or not at all, and never over a file that this command has read.

Contract: all files that autoparser writes are opened here (`tests/test_architecture.py`). A file
appears under its name with its last byte, or stays as it was; what a killed process leaves beside
it has a random name, which no later run meets.

For example, a command that has read `t.jinja` cannot lose it, even by another name:

    read_text(Path("t.jinja")); write_whole(Path("link-to-t.jinja"), b"…")
    ->  AutoparserError: not written: it would overwrite a file that this command has read
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO, TextIO

from autoparser import __version__
from autoparser.analysis.core.errors import FULL, AutoparserError

from .local_files import file_identity, pipe_patience, read_files, read_text

PIPE_INTERVAL = 0.02
"""Seconds between two attempts at a pipe without a reader."""

LONGEST_NAME = 200
"""Characters of a file's name that its temporary file repeats; systems allow 255 bytes."""


def write_named_file(
    path: Path, content: bytes, hint: str = "name a file in a directory that you may write to"
) -> None:
    """Write a file that a person named. Raises AutoparserError if that fails.

    A terminal or a pipe is written to, not replaced.
    """
    with writing(path, hint):
        if path.is_fifo():
            _write_pipe(path, content)
        elif path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            write_whole(path, content)


@contextmanager
def writing(path: Path, hint: str) -> Generator[None]:
    """Translate an OSError of writing a file to an AutoparserError with this hint."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if error.errno in FULL:
            hint = "make room there, or name a file on another disk"
        raise AutoparserError(
            f"cannot be written ({reason})", file=os.fspath(path), hint=hint
        ) from None


def write_whole(path: Path, content: bytes, *, before: str | None = None) -> None:
    """Replace a file, or the file that a link names, once all of `content` is on the disk.

    With `before`, the file's text when it was read, it may be one that this command has read.
    Raises OSError, such as for a device or a pipe, and AutoparserError if a file that was read
    would be lost, or if the file has changed since.
    """
    try:
        path = path.resolve()
    except RuntimeError:  # Python 3.13 and later raise an OSError
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "not a regular file")
    if before is None:
        check_unread(path)
    # A replacement needs no permission for the file that it replaces, only for its directory.
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    stream, beside = _new_file(path.parent, f".{path.name[:LONGEST_NAME]}.", ".tmp")
    try:
        with stream:
            stream.write(content)
            stream.flush()
            # Without it, a crash of the machine could leave the new name with an empty file.
            os.fsync(stream.fileno())
        if path.exists():
            # The new file replaces the old one, whose mode its owner has chosen.
            shutil.copymode(path, beside)
        # Right before the replacement: an editor may have saved the file in the meantime.
        if before is not None and read_text(path, noted=False) != before:
            raise AutoparserError(
                "not written: it was changed while this command ran",
                file=str(path),
                hint="run the command again",
            )
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def check_unread(path: Path) -> None:
    """Raise AutoparserError if this command has read the file, by this name or another one."""
    if file_identity(path) in (read_files.get() or ()):
        raise AutoparserError(
            "not written: it would overwrite a file that this command has read",
            file=os.fspath(path),
            hint="name another file",
        )


def open_log(path: Path) -> TextIO:
    """Open a file to add lines to. Raises as `write_whole` does."""
    check_unread(path)
    return path.open("a", encoding="utf-8", newline="\n")


def open_lock(path: Path) -> BinaryIO:
    """Open a file that processes lock, whose content is never read. Raises OSError."""
    # Opening a named pipe without a reader fails at once instead of blocking.
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o666), "wb")


def write_scratch(path: Path, content: bytes) -> None:
    """Write a file, and its folder, in a temporary directory of this process. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def cache_file(path: Path, content: bytes) -> None:
    """Cache `content` as this file. A file, link or pipe of that name is replaced.

    No link is followed: in a cache that came with a project it may name any file. A failure to
    cache, as on a full disk, does not stop this run. Several processes may cache a file at once: in
    the end one of theirs is there, whole.
    """
    with suppress(OSError, ValueError, AutoparserError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.is_fifo():
            path.unlink()
        write_whole(path, content)


def _new_file(folder: Path, prefix: str, suffix: str) -> tuple[BinaryIO, Path]:
    """Create a file under a unique name, with the mode of the process' new files."""
    # Not by `tempfile`, whose files only their owner may read: this one is the user's result.
    path = folder / f"{prefix}{os.urandom(8).hex()}{suffix}"
    return path.open("xb"), path


def _write_pipe(path: Path, content: bytes) -> None:
    """Write into a named pipe. Raises AutoparserError if it has no reader in time."""
    seconds = pipe_patience()
    ends = None if seconds is None else monotonic() + seconds
    descriptor: int | None = None
    try:
        while ends is None or monotonic() < ends:
            try:
                if descriptor is None:
                    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                content = content[os.write(descriptor, content) :]
                # Each piece that is read restarts the timeout.
                ends = None if seconds is None else monotonic() + seconds
            except OSError as error:
                # Not opened by a reader yet (ENXIO), or full (EAGAIN).
                if error.errno not in (errno.ENXIO, errno.EAGAIN):
                    raise
                sleep(PIPE_INTERVAL)
            if not content:
                return
    finally:
        if descriptor is not None:
            os.close(descriptor)
    raise AutoparserError(
        f"nothing read from this named pipe for {seconds:g} seconds",
        file=os.fspath(path),
        hint="start its reader first, or raise --timeout",
    )


def write_fault(fault: BaseException) -> Path | None:
    """Write the traceback of an internal error to a new file; None if that is not possible.

    It holds no argument of the command, which may be a key.
    """
    # Imported here: only a fault needs it.
    from tempfile import gettempdir  # noqa: PLC0415

    lines = [f"autoparser {__version__}, Python {sys.version}, {sys.platform}\n"]
    lines += traceback.format_exception(fault)
    content = "".join(lines).encode("utf-8", "backslashreplace")
    try:
        stream, path = _new_file(Path(gettempdir()), "autoparser-fault-", ".txt")
        with stream:
            stream.write(content)
    except OSError:
        return None
    return path
