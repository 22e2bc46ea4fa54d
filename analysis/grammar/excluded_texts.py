"""Free text up to one of several texts, as states: for grammars that cannot express "any text but".

The automaton is by Aho and Corasick ("Efficient string matching", 1975): the number of states is
linear in the length of the texts, even if a template ends its turns with pages of text.

For example, text that ends with `</a>` and holds no `<b>`:

    >>> for number, state in enumerate(exclusion_states(["</a>"], ["<b>"])):
    ...     print(number, repr(state.read), dict(state.goes), state.closes, set(state.refused))
    0 '' {'<': 1} {} set()
    1 '<' {'/': 2, '<': 1, 'b': 3} {} set()
    2 '</' {'<': 1, 'a': 4} {} set()
    3 '<b' {'<': 1} {} {'>'}
    4 '</a' {'<': 1} {'>': 0} set()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace


class State(Struct, frozen=True):
    """Transitions from one state; a character that is not named leads to state 0."""

    goes: Mapping[str, int]
    """The next state for each character that leads to a state other than 0, e.g. {"<": 1, "|": 2}.
    """
    closes: Mapping[str, int]
    """The index of the close that a character completes, e.g. {">": 0}."""
    refused: frozenset[str]
    """Characters that would complete an excluded text, e.g. ">" after "<tool_call"."""
    close_begun: bool = False
    r"""Whether a close that holds an excluded text has begun, e.g. after "<tool_call>" of
    '<tool_call>\n{"name": "': only named characters may follow."""
    read: str = ""
    """The prefix of a text that was read last, e.g. "<tool_"."""


def exclusion_states(closes: Sequence[str], exclude: Sequence[str]) -> list[State]:
    """Return the states of a text that holds none of `exclude` before one of `closes` ends it.

    A close may begin with or hold an excluded text: then nothing but the close may follow.
    """
    return _Prefixes(closes, exclude).states()


def kept_apart(closes: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...] | None:
    r"""Return the texts that free text must not hold where its close is written by itself.

    Return None if a text and the beginning of its close may hold one of them together, so that
    neither can be written without the other: a line break and two of them begin with two. If what
    they hold is the close's own beginning, as in a section that opens like each of its calls, the
    text lacks all of that beginning up to the part that they share.

    >>> kept_apart(["</a>"], ["</a>", "<b>"])
    ('</a>', '<b>')
    >>> kept_apart(["\n\n"], [])
    >>> kept_apart(["[a]calls[a]name"], ["[a]calls[a]"])
    ('[a]calls',)
    """
    known = [*dict.fromkeys((*closes, *exclude))]
    least = _least(known)
    for text in known:  # which grows
        for close in closes:
            for length in range(1, min(len(text), len(close))):
                before = text[:-length]
                if text.endswith(close[:length]) and not any(inner in before for inner in least):
                    if text == close or not close.startswith(text) or length >= len(before):
                        return None
                    known.append(before)
                    least = _least((*least, before))
    return least


def _least(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that hold no other one."""
    return tuple(text for text in texts if not any(_holds(text, other) for other in texts))


class _Prefixes:
    """The prefixes of texts, each by its number; 0 is the empty one."""

    def __init__(self, closes: Sequence[str], exclude: Sequence[str]) -> None:
        self.text = [""]
        self.then: list[dict[str, int]] = [{}]
        """The prefixes that are longer by one character."""
        ways = [self._add(close) for close in closes]
        self.to_close = {prefix for way in ways for prefix in way}
        self.close: dict[int, int] = {way[-1]: at for at, way in enumerate(ways)}
        """The longest close that a prefix ends with, by its index."""
        # Leave out longer ones: they are redundant, and hide that a close begins inside them.
        self.kept_out = {self._add(text)[-1] for text in _least(exclude)}
        """Prefixes that end with an excluded text."""
        self.whole = frozenset(self.close)
        self.with_excluded: set[int] = set()
        """Prefixes that hold an excluded text."""
        self.order = [0]
        self.leads = list(self.then)
        """The longest prefix after a prefix and a character, unless it is the empty one."""
        self.waiting = [0] * len(self.then)
        """The longest prefix that a prefix ends with and that can be continued."""
        self._connect()

    def _add(self, text: str) -> list[int]:
        """Add the prefixes of a text, and return them."""
        way = [0]
        for char in text:
            to = self.then[way[-1]].setdefault(char, len(self.then))
            if to == len(self.then):
                self.then.append({})
                self.text.append(self.text[way[-1]] + char)
            way.append(to)
        return way

    def _connect(self) -> None:
        """Compute the transitions of each prefix, the short ones first."""
        # The longest other prefix that each ends with, as in Aho and Corasick's search for many
        # words.
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
                self.with_excluded.add(at)
            if at in self.with_excluded:
                self.with_excluded.update(self.then[at].values())
            self.waiting[at] = at if self.then[at] else self.waiting[less]
            self.leads[at] = {**self.leads[less], **self.then[at]}

    def states(self) -> list[State]:
        """Return a state for each prefix that can be continued and that a text leads to.

        None leads past a close: up to `>>>`, the prefixes of `>>>name` need no states.
        """
        found = {0: self._state(0)}
        waiting = [0]
        for at in waiting:
            for to in found[at].goes.values():
                if to not in found:
                    found[to] = self._state(to)
                    waiting.append(to)
        order = [at for at in self.order if at in found]
        places = {prefix: place for place, prefix in enumerate(order)}
        return [
            replace(found[at], goes={char: places[to] for char, to in found[at].goes.items()})
            for at in order
        ]

    def _state(self, at: int) -> State:
        """Return the state of a prefix, with the prefixes that it goes to in place of states."""
        goes: dict[str, int] = {}
        closes: dict[str, int] = {}
        refused: set[str] = set()
        begun = at in self.with_excluded
        # Sorted, so that the states do not depend on the order of the texts.
        for char, to in sorted((self.then if begun else self.leads)[at].items()):
            to_close = to in self.to_close
            if to in (self.whole if begun else self.close):
                closes[char] = self.close[to]
            elif not to_close and (begun or to in self.kept_out):
                refused.add(char)
            elif self.waiting[to]:
                goes[char] = self.waiting[to]
        return State(goes, closes, frozenset(refused), begun, self.text[at])


def _holds(text: str, other: str) -> bool:
    return bool(other) and other != text and other in text
