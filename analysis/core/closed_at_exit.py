"""What is closed where a `with` statement ends: processes, threads, connections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["ClosedAtExit"]


class ClosedAtExit(ABC):
    """A context manager that gives itself, and is closed at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """End what it has begun."""
