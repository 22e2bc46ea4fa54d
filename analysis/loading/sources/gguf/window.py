"""The beginning of a file, as far as it was asked for: from a disk, or over a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from autoparser.analysis.core.errors import TemplateReadError

__all__ = ["LARGEST_HEADER", "CachedWindow", "FileWindow", "Window"]

LARGEST_HEADER = 64 << 20
"""Bytes of a header. A vocabulary of 260,000 tokens with its merges has about 12 million."""

FIRST_PART = 1 << 20
LARGEST_PART = 8 << 20


class Window(ABC):
    """Grows from the beginning of a file; what is in it stays in memory."""

    def __init__(self, size: int) -> None:
        """Begin with nothing of a file of ``size`` bytes."""
        self.size = size
        self.content = bytearray()
        self._part = FIRST_PART

    def reach(self, end: int) -> None:
        """Have at least the first ``end`` bytes; the caller has seen that the file has so many."""
        while len(self.content) < end:
            start = len(self.content)
            stop = min(self.size, max(end, start + self._part))
            self._part = min(2 * self._part, LARGEST_PART)
            got = self.fetch(start, stop)
            if not got:
                raise TemplateReadError(
                    f"the file ends at byte {start}, although it should have {self.size}",
                    file=self.name,
                    hint="it was cut short; fetch it again",
                )
            self.content += got

    @property
    @abstractmethod
    def name(self) -> str:
        """The file, as errors name it."""

    @abstractmethod
    def fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes from ``start`` on, up to ``stop``; fewer where there are fewer."""


class FileWindow(Window):
    """The beginning of a local file."""

    def __init__(self, path: Path) -> None:
        """Look at this file. Raises TemplateReadError where there is none."""
        self.path = path
        try:
            size = path.stat().st_size
        except OSError as error:
            raise self._unreadable(error) from None
        super().__init__(size)

    @property
    def name(self) -> str:
        """The file, as errors name it."""
        return str(self.path)

    def fetch(self, start: int, stop: int) -> bytes:
        """Read a part."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(start)
                return stream.read(stop - start)
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> TemplateReadError:
        reason = error.strerror or type(error).__name__
        return TemplateReadError(
            f"cannot read the file ({reason})",
            file=str(self.path),
            hint="check its permissions or pass another file",
        )


class CachedWindow(Window):
    """The beginning of a file that was read before, and cached."""

    def __init__(self, name: str, content: bytes) -> None:
        """Look at these bytes, which are the beginning of the file of this name."""
        super().__init__(len(content))
        self._name = name
        self.content += content

    @property
    def name(self) -> str:
        """The file, as errors name it."""
        return self._name

    def fetch(self, start: int, stop: int) -> bytes:
        """Return nothing: all that there is is there."""
        del start, stop
        return b""
