"""Small files cached for later runs, each whole or not there.

Contract: caching is a favour to a later run. Where it cannot be done, as on a full disk, nothing is
cached, and this run goes on. Several processes may cache a file at once: one of theirs is there in
the end, whole.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["cache_file", "cached_file"]


def cache_file(path: Path, content: bytes) -> None:
    """Cache ``content`` as this file, in place of what was there."""
    with suppress(OSError, ValueError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".incomplete")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def cached_file(path: Path) -> bytes | None:
    """Return what was cached as this file; None where there is nothing that can be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError):
        return None
