"""The tokens of a vocabulary by their bytes: those that begin with, or hold, given bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

__all__ = ["TokenIndex"]


class TokenIndex:
    """All tokens of a vocabulary, sorted by their bytes."""

    def __init__(self, token_bytes: tuple[bytes, ...]) -> None:
        self._sorted = sorted((text, token) for token, text in enumerate(token_bytes) if text)
        self._holding: dict[bytes, tuple[tuple[int, bytes], ...]] = {}

    def beginning_with(self, start: bytes) -> Iterator[tuple[int, bytes]]:
        """Return the tokens that begin with ``start``, each with its bytes."""
        for place in range(bisect_left(self._sorted, (start, -1)), len(self._sorted)):
            text, token = self._sorted[place]
            if not text.startswith(start):
                return
            yield token, text

    def equal_to(self, text: bytes) -> Iterator[int]:
        """Return the tokens whose bytes are ``text``."""
        place = bisect_left(self._sorted, (text, -1))
        while place < len(self._sorted) and self._sorted[place][0] == text:
            yield self._sorted[place][1]
            place += 1

    def holding(self, part: bytes) -> tuple[tuple[int, bytes], ...]:
        """Return the tokens that hold ``part`` anywhere; every token is looked at, once."""
        if part not in self._holding:
            self._holding[part] = tuple(
                (token, text) for text, token in self._sorted if part in text
            )
        return self._holding[part]
