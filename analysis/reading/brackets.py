"""Finding the end of a value by its own brackets and quotes, each character looked at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoparser.analysis.format import Notation


class BracketScan:
    """Scans one value as it comes."""

    def __init__(self, notation: Notation) -> None:
        """Take the brackets and quotes of a notation."""
        inner = notation.array.values or notation
        text = inner.string if inner.string.open.strip() else notation.string
        self._quote = (text.open.strip(), text.close.strip())
        self._opens = {
            each.open.strip() for each in (notation.array, notation.object) if each.open.strip()
        }
        self._closes = {
            each.close.strip() for each in (notation.array, notation.object) if each.close.strip()
        }
        self._depth = 0
        self._quoted = False
        self._seen = 0

    def end_of(self, text: str, start: int, ends: Sequence[str], *, closed: bool) -> int | None:
        """Say how long the value is, which ends before one of `ends`; None: not to be seen yet."""
        opening, close = self._quote
        words = [word for word in (opening, close, *self._opens, *self._closes, *ends) if word]
        pattern = re.compile("|".join(map(re.escape, sorted(set(words), key=len, reverse=True))))
        longest = max(map(len, words), default=1)
        limit = len(text) if closed else len(text) - longest + 1
        at = start + self._seen
        while True:
            match = pattern.search(text, at)
            if match is None or match.start() >= limit:
                self._seen = max(self._seen, limit - start, 0)
                return None
            word = match.group()
            if self._quoted:
                if word == close:
                    self._quoted = False
                at = match.start() + (len(word) if word == close else 1)
            elif word in ends and not self._depth:
                return match.start() - start
            else:
                self._quoted = word == opening
                self._depth += (word in self._opens) - (word in self._closes)
                at = match.end()
            self._seen = at - start
