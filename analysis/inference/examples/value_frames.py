"""What stands around the values of examples, so that values in a notation of their own are found.

A number, a word or a string is found by its text. How an array, an object, or a word for true or
null is written may be the format's own; it stands where others stand:

    days: 3 | tags: (a ; b) |        mid ': ', after ' | ' or ' |': so the array is '(a ; b)'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Json

from .own_words import filled
from .wording import WordSpan

__all__ = ["ValueFrames"]

_LONGEST_WORD = 16
"""A word for true, false or null is not longer."""


@dataclass(frozen=True, slots=True)
class ValueFrames:
    """The literals before and after values, where all values of an example were found."""

    middles: Mapping[str, int]
    """Between a key and its value, and how often."""
    betweens: tuple[str, ...]
    """From a value to the next key, with marks for its own key and the call's name."""
    tails: tuple[str, ...]
    """From the last value on, as far as most turns are alike there."""

    def likely(self, middle: str) -> int:
        """Say how often a literal stood between a key and its value."""
        return self.middles.get(middle, 0)

    def spans(
        self, text: str, start: int, value: Json, words: Mapping[str, str], following: str
    ) -> Iterator[WordSpan]:
        """Go through the places of a value in a notation of its own, after its key.

        `words` are the texts in the places of the marks, `following` is the next key.
        """
        afters = self.betweens if following else self.tails
        ends = [filled(each, words) + following for each in _suffixes(afters)]
        for begin in self._begins(text, start):
            for end in sorted(_found(text, begin, ends)):
                if _may_be(text[begin:end], value):
                    yield WordSpan(begin, end)

    def _begins(self, text: str, start: int) -> Iterator[int]:
        known = sorted(self.middles, key=len)
        shared = common_prefix(*known) if len(known) > 1 else ""
        for middle in dict.fromkeys((*known, shared)):
            if middle.strip() and text.startswith(middle, start):
                yield start + len(middle)


def _suffixes(literals: Sequence[str]) -> Iterator[str]:
    """Go through literals, and what is left of them without what closes other values alone."""
    for literal in literals:
        yield from (literal[at:] for at in range(len(literal)))


def _found(text: str, begin: int, ends: Sequence[str]) -> set[int]:
    """Return the first places at which the value may end."""
    found = {text.find(each, begin) for each in ends if each.strip()}
    return {at for at in found if at >= 0}


def _may_be(written: str, value: Json) -> bool:
    """Whether a text may be a value: a word, or something that holds all that the value holds."""
    if value is None or isinstance(value, bool):
        return 0 < len(written) <= _LONGEST_WORD and not re.search(r"\s", written)
    return isinstance(value, (list, dict)) and _holds(written, 0, value) is not None


def _holds(written: str, at: int, value: Json) -> int | None:
    """Return where the last text of a value ends; None where one is missing."""
    if isinstance(value, dict):
        parts: list[Json] = [part for pair in value.items() for part in pair]
    elif isinstance(value, list):
        parts = value
    elif isinstance(value, str) and not value.isalnum():
        return at  # It may be escaped.
    else:
        word = "" if value is None or isinstance(value, bool) else str(value)
        found = written.find(word, at)
        return None if found < 0 else found + len(word)
    for part in parts:
        reached = _holds(written, at, part)
        if reached is None:
            return None
        at = reached
    return at
