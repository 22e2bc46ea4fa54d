"""Where a marker ends in a text that comes token by token, in bytes.

Bytes are what both ways of writing a marker share: an added token has the marker's bytes, and so
has any row of plain tokens that spells it, even one that shares a token with the text around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .index import TokenIndex

__all__ = ["Marker"]


@dataclass(frozen=True)
class Marker:
    """A marker that is searched for (Knuth, Morris, Pratt); ``matched`` is how much stands so far.

    The search forgets nothing that could still become the marker, and looks at each byte once.
    """

    text: bytes

    @cached_property
    def _shorter(self) -> tuple[int, ...]:
        """For each matched length: the next shorter one that fits the same end of the text."""
        table = [0] * (len(self.text) + 1)
        length = 0
        for place in range(1, len(self.text)):
            while length and self.text[place] != self.text[length]:
                length = table[length]
            if self.text[place] == self.text[length]:
                length += 1
            table[place + 1] = length
        return tuple(table)

    def read(self, matched: int, more: bytes) -> tuple[int, bytes | None]:
        """Go on from ``matched`` bytes of the marker over ``more``.

        Give the matched length at its end and None; or, where the marker ends in ``more``, its
        whole length and the bytes after it (none left: ``b""``).
        """
        if not matched and self.text[:1] not in more:
            return 0, None
        for place, byte in enumerate(more):
            while matched and byte != self.text[matched]:
                matched = self._shorter[matched]
            if byte == self.text[matched]:
                matched += 1
            if matched == len(self.text):
                return matched, more[place + 1 :]
        return matched, None

    def overshooting(self, matched: int, index: TokenIndex) -> Iterator[tuple[int, bytes]]:
        """Return the tokens that end the marker and go on beyond it, each with what comes then.

        ``matched`` bytes of the marker stand before the token.
        """
        seen: set[int] = set()
        length = matched
        while length:
            for token, text in index.beginning_with(self.text[length:]):
                _, rest = self.read(matched, text)
                if rest and token not in seen:
                    seen.add(token)
                    yield token, rest
            length = self._shorter[length]
        for token, text in index.holding(self.text):
            _, rest = self.read(matched, text)
            if rest and token not in seen:
                yield token, rest
