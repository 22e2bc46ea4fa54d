"""Free text up to one of several texts, as states: for grammars that cannot say "any text but".

The states are those of Aho and Corasick ("Efficient string matching", 1975): they cost no more than
the texts are long, also where a template ends its turns with pages of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """What may come next; a character that is not named leads to the state 0."""

    goes: Mapping[str, int]
    """The state after each character that leads to another one than 0."""
    closes: Mapping[str, int]
    """The close, by its place, that a character completes."""
    refused: frozenset[str]
    """Characters that would complete a text that is kept out."""
    begun: bool = False
    """A close has begun that holds a text that is kept out: only what is named may follow."""
    read: str = ""
    """The beginning of a text that was read last."""


def states(closes: Sequence[str], exclude: Sequence[str]) -> list[State]:
    """Return the states of a text that holds none of `exclude` before one of `closes` ends it.

    A close may begin with or hold a text that is kept out: then nothing but the close may follow.
    """
    return _Prefixes(closes, exclude).states()


def kept_apart(closes: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...] | None:
    r"""Return the texts that free text must not hold where its close is written by itself.

    None where a text and the beginning of its close may hold one of them together, so that neither
    can be written without the other: a line break and two of them begin with two.

    >>> kept_apart(["</a>"], ["</a>", "<b>"])
    ('</a>', '<b>')
    >>> kept_apart(["\n\n"], [])
    """
    known = tuple(dict.fromkeys((*closes, *exclude)))
    least = tuple(text for text in known if not any(_holds(text, each) for each in known))
    for text in known:
        for close in closes:
            for length in range(1, min(len(text), len(close))):
                before = text[:-length]
                if text.endswith(close[:length]) and not any(each in before for each in least):
                    return None
    return least


class _Prefixes:
    """The beginnings of texts, each by its number; 0 is the empty one."""

    def __init__(self, closes: Sequence[str], exclude: Sequence[str]) -> None:
        self.text = [""]
        self.then: list[dict[str, int]] = [{}]
        """The prefixes that are longer by a character."""
        ways = [self._add(close) for close in closes]
        self.to_close = {prefix for way in ways for prefix in way}
        self.close: dict[int, int] = {way[-1]: at for at, way in enumerate(ways)}
        """The longest close that a prefix ends with, by its place."""
        # A longer one is kept out already, and would hide that a close begins within it.
        least = [text for text in exclude if not any(_holds(text, each) for each in exclude)]
        self.kept_out = {self._add(text)[-1] for text in least}
        """Prefixes that end with a text that is kept out."""
        self.whole = frozenset(self.close)
        self.begun: set[int] = set()
        """Prefixes in which a text stands that is kept out."""
        self.order = [0]
        self.leads = list(self.then)
        """The longest prefix after a prefix and a character, where it is not the empty one."""
        self.waiting = [0] * len(self.then)
        """The longest prefix that a prefix ends with and from which a text goes on."""
        self._connect()

    def _add(self, text: str) -> list[int]:
        """Add a text's beginnings, and give them."""
        way = [0]
        for char in text:
            to = self.then[way[-1]].setdefault(char, len(self.then))
            if to == len(self.then):
                self.then.append({})
                self.text.append(self.text[way[-1]] + char)
            way.append(to)
        return way

    def _connect(self) -> None:
        """Find out where each prefix leads, the short ones first."""
        shorter = [0] * len(self.then)
        for at in self.order:
            less = shorter[at]
            for char, to in self.then[at].items():
                self.order.append(to)
                shorter[to] = self.leads[less].get(char, 0) if at else 0
            if not at:
                continue
            if at not in self.close and less in self.close:
                self.close[at] = self.close[less]
            if less in self.kept_out:
                self.kept_out.add(at)
            if at in self.kept_out:
                self.begun.add(at)
            if at in self.begun:
                self.begun.update(self.then[at].values())
            self.waiting[at] = at if self.then[at] else self.waiting[less]
            self.leads[at] = {**self.leads[less], **self.then[at]}

    def states(self) -> list[State]:
        """Return a state for each prefix from which a text goes on."""
        waiting = [at for at in self.order if self.then[at] or not at]
        places = {prefix: place for place, prefix in enumerate(waiting)}
        return [self._state(at, places) for at in waiting]

    def _state(self, at: int, places: Mapping[int, int]) -> State:
        goes: dict[str, int] = {}
        closes: dict[str, int] = {}
        refused: set[str] = set()
        begun = at in self.begun
        for char, to in sorted((self.then if begun else self.leads)[at].items()):
            to_close = to in self.to_close
            if to in (self.whole if begun else self.close):
                closes[char] = self.close[to]
            elif not to_close and (begun or to in self.kept_out):
                refused.add(char)
            elif self.waiting[to]:
                goes[char] = places[self.waiting[to]]
        return State(goes, closes, frozenset(refused), begun, self.text[at])


def _holds(text: str, other: str) -> bool:
    return bool(other) and other != text and other in text
