"""Reading no more of a file than a text may have: it may be a stranger's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from autoparser.analysis.core.errors import TemplateReadError

__all__ = ["LARGEST", "TEMPLATE_HINT", "opened", "read_bounded"]

LARGEST = 64 << 20
"""Bytes of a text that is read; the largest of real models have a few million."""

TEMPLATE_HINT = "pass a template, or a directory of a model"


def read_bounded(stream: BinaryIO, file: str, hint: str = TEMPLATE_HINT) -> bytes:
    """Return all of a stream. Raises TemplateReadError for more than `LARGEST` bytes.

    A file that says itself that it is larger is not read at all.
    """
    if _size(stream) <= LARGEST:
        content = stream.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content
    raise TemplateReadError(
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
