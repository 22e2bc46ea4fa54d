"""Free text up to one of several texts, as states: for grammars that cannot say "any text but"."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """What may come next; a character that is not named leads to the state 0."""

    goes: Mapping[str, int]
    """The state behind each character that leads to another one than 0."""
    closes: Mapping[str, int]
    """The close, by its place, that a character completes."""
    refused: frozenset[str]
    """Characters that would complete a text that is kept out."""
    begun: bool = False
    """A close has begun that holds a text that is kept out: only the rest of it may follow."""


def states(closes: Sequence[str], exclude: Sequence[str]) -> list[State]:
    """Give the states of a text that holds none of `exclude` before one of `closes` ends it.

    A close may begin with or hold a text that is kept out: then nothing but the close may follow.
    """
    prefixes = _prefixes([*closes, *exclude])
    places = {prefix: at for at, prefix in enumerate(prefixes)}
    ends = {close: at for at, close in enumerate(closes)}
    alphabet = sorted({char for text in (*closes, *exclude) for char in text})
    found: list[State] = []
    for prefix in prefixes:
        goes: dict[str, int] = {}
        closing: dict[str, int] = {}
        refused: set[str] = set()
        begun = _kept_out(prefix, exclude)
        for char in alphabet:
            text = prefix + char
            close = next((text[at:] for at in range(len(text)) if text[at:] in ends), None)
            whole = text in places
            if close is not None and (not begun or close == text):
                closing[char] = ends[close]
            elif (begun and not whole) or (_kept_out(text, exclude) and not _in(text, closes)):
                refused.add(char)
            else:
                longest = next(text[at:] for at in range(len(text) + 1) if text[at:] in places)
                if longest:
                    goes[char] = places[longest]
        found.append(State(goes, closing, frozenset(refused), begun))
    return found


def _prefixes(texts: Sequence[str]) -> list[str]:
    """Give every beginning of a text that is not all of it, the empty one first."""
    found = {"": None}
    waiting = deque(texts)
    while waiting:
        text = waiting.popleft()
        found.update(dict.fromkeys(text[:size] for size in range(len(text))))
    return sorted(found, key=len)


def _kept_out(text: str, exclude: Sequence[str]) -> bool:
    """Whether a text that is kept out stands in another one."""
    return any(each in text for each in exclude)


def _in(text: str, closes: Sequence[str]) -> bool:
    """Whether a text begins a close."""
    return any(close.startswith(text) for close in closes)
