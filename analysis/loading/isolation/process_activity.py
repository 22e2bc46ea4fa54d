"""What another process does, as the kernel tells it: whether it works, and how much it has worked.

Why not ``psutil``: it would be a dependency of every installation for one line of one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ProcessActivity", "activity_of"]

_USER_TICKS, _SYSTEM_TICKS = 11, 12
"""Fields after the name, from 0: ``utime`` and ``stime`` of proc_pid_stat(5)."""


@dataclass(frozen=True, slots=True)
class ProcessActivity:
    """What a process does at a moment."""

    state: str
    """A letter of proc_pid_stat(5), such as ``S`` for one that sleeps."""
    ticks: int
    """Processor time that all its threads have taken, in ticks of the system's clock."""

    @property
    def running(self) -> bool:
        """Whether it runs or would if it were its turn, or waits for a disk."""
        return self.state in ("R", "D")


def activity_of(pid: int) -> ProcessActivity | None:
    """Return what a process does; None where the system does not say."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name before stands in brackets, and may hold anything.
    fields = content.rpartition(b")")[2].split()
    return ProcessActivity(
        fields[0].decode(), int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    )
