"""Finding the end of a value by its own brackets and quotes, each character looked at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoparser.analysis.core.format import Escape, Notation


def quotes_of(notation: Notation) -> dict[str, str]:
    """Return what opens a string, and what then closes it, at the top or inside a container."""
    inner = (notation, notation.array.values, notation.object.values)
    strings = [each.string for each in inner if each is not None]
    pairs = ((text.open.strip(), text.close.strip()) for text in strings)
    # What nothing closes encloses nothing.
    quotes = {opening: close for opening, close in pairs if opening and close}
    if any(text.escape is Escape.PYTHON for text in strings):
        quotes |= {"'": "'", '"': '"'}
    return quotes


def escaped_of(notation: Notation) -> frozenset[str]:
    """Return the closing quotes before which a backslash makes them text."""
    inner = (notation, notation.array.values, notation.object.values)
    strings = [each.string for each in inner if each is not None]
    closes = {text.close.strip() for text in strings if text.escape in _BACKSLASHED}
    if any(text.escape is Escape.PYTHON for text in strings):
        closes |= {"'", '"'}
    return frozenset(closes)


_BACKSLASHED = frozenset({Escape.JSON, Escape.JSON_ASCII, Escape.JSON_HTML, Escape.PYTHON})


class BracketScan:
    """Scans one value as it comes."""

    def __init__(self, notation: Notation, *, literal: bool = False) -> None:
        """Take the brackets and quotes of a notation; a `literal` may be in quotes itself."""
        self._quotes = quotes_of(notation)
        string = notation.string
        self._bare = not (literal or string.open.strip() or string.escape is Escape.PYTHON)
        """Whether a quote is a part of a text, and a bracket but the first sign of all."""
        self._escaped = escaped_of(notation)
        self._opens = {
            each.open.strip() for each in (notation.array, notation.object) if each.open.strip()
        }
        self._closes = {
            each.close.strip() for each in (notation.array, notation.object) if each.close.strip()
        }
        self._depth = 0
        self._quoted = ""
        self._seen = 0
        self.passed: int | None = None
        """Where the first text stood that would have ended the value outside of what is open."""

    def end_of(self, text: str, start: int, ends: Sequence[str], *, closed: bool) -> int | None:
        """Say how long the value is, which ends before one of `ends`; None: not to be seen yet."""
        quotes = self._quotes
        words = {*quotes, *quotes.values(), *self._opens, *self._closes, *ends}
        pattern = re.compile(
            r"\\.|" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.DOTALL
        )
        longest = max(2, *map(len, words))
        limit = len(text) if closed else len(text) - longest + 1
        at = start + self._seen
        while True:
            match = pattern.search(text, at)
            if match is None or match.start() >= limit:
                self._seen = max(self._seen, limit - start, 0)
                return None
            word = match.group()
            if word in ends and (self._depth or self._quoted) and self.passed is None:
                self.passed = match.start() - start
            if self._quoted:
                closes = word == self._quoted
                skips = word[0] == "\\" and self._quoted in self._escaped
                at = match.start() + (len(word) if closes or skips else 1)
                self._quoted = "" if closes else self._quoted
            elif word[0] == "\\" and word not in words:
                at = match.start() + 1
            elif word in ends and not self._depth:
                return match.start() - start
            else:
                if self._depth or not self._bare or not text[start : match.start()].strip():
                    self._quoted = "" if self._bare and not self._depth else quotes.get(word, "")
                    self._depth += (word in self._opens) - (word in self._closes)
                at = match.end()
            self._seen = at - start


class LiteralScan:
    """Says whether a text that begins with a quote is a string in quotes, and nothing else."""

    def __init__(self, opening: str, close: str, ends: Sequence[str], marks: Sequence[str]) -> None:
        """Take its quotes, what may follow it, and what ends a value wherever it stands."""
        self._close, self._ends = close, tuple(ends)
        words = sorted({close, *marks}, key=len, reverse=True)
        self._pattern = re.compile(r"\\.|" + "|".join(map(re.escape, words)), re.DOTALL)
        self._overlap = max(2, *map(len, words)) - 1
        self._at = len(opening)

    def is_whole(self, text: str, start: int, *, closed: bool) -> bool | None:
        """Look at the text from `start` on; None: not to be seen yet."""
        while (match := self._pattern.search(text, start + self._at)) is not None:
            if match.group() == self._close:
                behind = text[match.end() :].lstrip()
                self._at = match.start() - start
                if behind.startswith(self._ends):
                    return True
                may_follow = not behind or any(each.startswith(behind) for each in self._ends)
                return (not behind if closed else None) if may_follow else False
            if match.group()[0] != "\\":
                return False
            self._at = match.end() - start
        self._at = max(self._at, len(text) - start - self._overlap)
        return False if closed else None


class QuoteScan:
    """Says whether a place in the text of an array or object is inside one of its strings."""

    def __init__(self, notation: Notation) -> None:
        """Take the quotes of what arrays and objects hold."""
        self._quotes = quotes_of(notation)
        self._escaped = escaped_of(notation)
        words = sorted({*self._quotes, *self._quotes.values()}, key=len, reverse=True)
        self._pattern = re.compile("|".join([r"\\.", *map(re.escape, words)]), re.DOTALL)
        self._longest = max(2, *map(len, words)) if words else 2
        self._opens = tuple(
            each.open.strip() for each in (notation.array, notation.object) if each.open.strip()
        )
        self._unread = ""
        self._begun: bool | None = None
        """Whether the value is an array or an object; None: not seen yet."""
        self._quoted = ""

    def read(self, text: str) -> None:
        """Add to the text of the value."""
        if self._begun is not False:
            self._unread += text

    def inside(self, text: str) -> bool:
        """Whether what comes after this text, which is not added, is inside a string."""
        size = len(self._unread)
        whole = self._unread + text
        if self._begun is None and (front := whole.lstrip()):
            if front.startswith(self._opens):
                self._begun = True
            elif not any(each.startswith(front) for each in self._opens):
                self._begun, self._unread = False, ""
        if not self._begun:
            return False
        quoted, kept, known = self._quoted, 0, self._quoted
        at = 0
        while (match := self._pattern.search(whole, at)) is not None:
            word = match.group()
            skips = word[0] != "\\" or quoted in self._escaped
            at = match.end() if skips else match.start() + 1
            quoted = self._behind(word, quoted)
            if at <= size:
                kept, known = at, quoted
        self._unread = whole[max(kept, size - self._longest + 1) : size]
        self._quoted = known
        return bool(quoted)

    def _behind(self, word: str, quoted: str) -> str:
        """Return what closes the string that is open after a word; empty: none is."""
        if not quoted:
            return self._quotes.get(word, "")
        return "" if word == quoted else quoted
