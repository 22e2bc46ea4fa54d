"""What a person probably meant by a word that is not known: the one home of "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["misspelt", "nearest", "suggest"]

NEAR = 0.6
"""The share of characters that two words have in common, in order, to be taken for each other."""


def nearest(given: str, known: Iterable[object]) -> str | None:
    """Give the known word that is most like a given one, in any case of letters; None: none is."""
    by_letters = {str(word).casefold(): str(word) for word in known}
    close = get_close_matches(given.casefold(), by_letters, n=1, cutoff=NEAR)
    return by_letters[close[0]] if close else None


def suggest(given: str, known: Iterable[object], then: str = "") -> str:
    """Return a hint: what was probably meant, if anything is near; and `then`."""
    close = nearest(given, known)
    return " ".join(filter(None, (close and f"did you mean {close}?", then)))


def misspelt(wanted: str, given: Iterable[object], then: str = "") -> str:
    """Give a hint about a name that is missing: which of those given stands for it; and `then`."""
    close = nearest(wanted, (each for each in given if each != wanted))
    return " ".join(filter(None, (close and f"did you mean {wanted} for {close}?", then)))
