"""How much memory this process has, and the limit on it.

The kernel counts what a process may write to as its data: heap, anonymous maps, thread stacks.
Address space would count a hundred gigabytes that libraries reserve and never touch. Linux
alone holds processes to it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["data_bytes", "held_memory"]

_STATUS = Path("/proc/self/status")


def data_bytes() -> int | None:
    """Return the bytes of data that this process has mapped; None where the system does not say."""
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
def held_memory(more: int | None, has: int | None) -> Generator[None]:
    """Let this process take so many bytes more than it has; what is beyond is a MemoryError.

    `has` is what `data_bytes` said.
    """
    if more is None or has is None or sys.platform == "win32":
        yield
        return
    # Windows has none.
    from resource import RLIMIT_DATA, getrlimit, setrlimit  # noqa: PLC0415

    soft, hard = getrlimit(RLIMIT_DATA)
    bound = has + more
    for other in (soft, hard):
        # A negative number says that there is none.
        bound = min(bound, other) if other >= 0 else bound
    setrlimit(RLIMIT_DATA, (bound, hard))
    try:
        yield
    finally:
        setrlimit(RLIMIT_DATA, (soft, hard))
