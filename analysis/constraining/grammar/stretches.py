"""Free text that plain text closes, as a lexer reads it: words between signs, and runs of text.

A mask of llguidance is quick where it knows without looking that a whole slice of the vocabulary is
allowed. It knows that where a terminal goes on with any characters of a class, not of "anything
that does not hold ``</a>``". So the first and last characters of what closes the text, its signs,
cut that into terminals. All text up to the next sign that may begin a close is one terminal, a run;
signs that only end one are part of it. Which signs and words have begun a close is told by the
states of `until`, with these in place of characters.

For the close ``</a>`` a close begins with ``<``, the signs are ``<>``, and there is one word::

    state 0      any run -> 0                          "<" -> 1
    state 1      "/a" -> 2    any other run -> 0       "<" -> 1
    state 2      ">" closes                            "<" -> 1
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from .until import State, states

_FIRST = 0xF0000
"""The character that stands for the first symbol when states are made of symbols."""


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text up to the next sign that may begin a close."""

    without: str
    """The signs that may begin one."""
    ends: str = ""
    """The other signs, which only end one."""
    but_first: str = ""
    """Those that it does not begin with."""
    but_not: tuple[str, ...] = ()
    """What does not stand before its first sign."""
    is_after_word: bool = False
    """Whether it begins with a sign, since a word has just been read."""


Symbol: TypeAlias = str | int
"""A sign, a word between signs, or an opaque token by its id."""


@dataclass(frozen=True, slots=True)
class OneWord:
    """One of several words, or of several signs."""

    texts: tuple[str, ...]


Terminal: TypeAlias = Symbol | OneWord | TextRun


@dataclass(frozen=True, slots=True)
class TextStep:
    """A terminal, and the state of the text before it; None: nothing stands before it."""

    origin: int | None
    terminal: Terminal


@dataclass(frozen=True, slots=True)
class StretchedText:
    """Text as steps from state to state."""

    steps: Mapping[int, Sequence[TextStep]]
    """The steps that lead to a state."""
    closes: Sequence[Sequence[TextStep]]
    """The last step of each text that closes it."""
    ends: Sequence[int]
    """The states in which the text may end where nothing closes it."""


def signs_of(texts: Sequence[str]) -> str | None:
    """Return the signs of texts that close free text or are kept out of it: first and last ones.

    None where one is a letter, a digit or a blank, which stand in most tokens, or is no ASCII:
    a lexer that read a byte of it no longer knows that the stretch before it had come to its end.
    """
    signs = {sign for text in texts if text for sign in (text[0], text[-1])}
    usual = all(sign.isascii() and not sign.isalnum() and sign != " " for sign in signs)
    return "".join(sorted(signs)) if usual else None


def symbols_of(text: str, signs: str) -> list[Symbol]:
    """Cut a text into its signs and the stretches between them."""
    found: list[str] = []
    within = False
    for char in text:
        if within and char not in signs:
            found[-1] += char
        else:
            found.append(char)
        within = char not in signs
    return list(found)


def stretched(
    closes: Sequence[Sequence[Symbol]],
    exclude: Sequence[Sequence[Symbol]],
    signs: str,
    not_alone: Collection[Sequence[Symbol]] = (),
) -> StretchedText:
    """Return the text that one of `closes` ends, without any of `exclude` before.

    Before those that are `not_alone`, the text is not empty; it may begin with one, if that is a
    single symbol which begins nothing else: a line break that closes a text may come first in it.
    """
    known: dict[Symbol, str] = {}
    for symbol in (*signs, *(each for text in (*closes, *exclude) for each in text)):
        known.setdefault(symbol, chr(_FIRST + len(known)))

    def encoded(texts: Collection[Sequence[Symbol]]) -> list[str]:
        return ["".join(known[symbol] for symbol in text) for text in texts]

    found = states(encoded(closes), encoded(exclude))
    symbols = {char: symbol for symbol, char in known.items()}
    begins = {text[0] for text in encoded(closes) if len(text) > 1}
    begins |= {text[0] for text in encoded(exclude) if text}
    lone = encoded(not_alone)
    first = [text for text in lone if len(text) == 1 and text not in begins]
    return _Stretcher(found, symbols, signs, lone, first).text()


_ROUNDS = 50
"""How often states are told apart; a close of whole pages would take long, and keeps them all."""


class _LastRead(Enum):
    """What was read last of a text."""

    SIGN = auto()
    WORD = auto()
    RUN = auto()


_Place: TypeAlias = tuple[int, _LastRead, str | None]
"""A state of the symbols; what was read last; the whole text, where it may become a close that must
not stand alone."""


class _Stretcher:
    def __init__(
        self,
        found: Sequence[State],
        symbols: Mapping[str, Symbol],
        signs: str,
        not_alone: Sequence[str],
        first: Sequence[str],
    ) -> None:
        self.found, self.symbols, self.signs = found, symbols, signs
        self.not_alone, self.first = not_alone, first
        begin = self._named(found[0])
        self.begin = "".join(sign for sign in signs if sign in begin)
        self.end = "".join(sign for sign in signs if sign not in begin)
        self.ways: dict[_Place, list[tuple[Terminal, _Place]]] = {}

    def text(self) -> StretchedText:
        """Follow all states from the first one; those are one from which the same follows."""
        start: _Place = (0, _LastRead.SIGN, "" if self.not_alone else None)
        waiting = [start]
        while waiting:
            place = waiting.pop()
            if place not in self.ways:
                self.ways[place] = list(self._ways(place))
                waiting += [to for _, to in self.ways[place]]
        same = self._same()
        steps: dict[int, list[TextStep]] = {}
        closes: dict[int, list[TextStep]] = {}
        ends: list[int] = []
        reached = {same[to] for ways in self.ways.values() for _, to in ways}
        first = {number: place for place, number in reversed(same.items())}
        for number in [None, *sorted(reached)]:
            place = start if number is None else first[number]
            for terminal, to in _merged((each, same[to]) for each, to in self.ways[place]):
                steps.setdefault(to, []).append(TextStep(number, terminal))
            for terminal, close in _merged(self._closes(place)):
                closes.setdefault(close, []).append(TextStep(number, terminal))
            if number is not None and not self.found[place[0]].begun:
                ends.append(number)
        return StretchedText(steps, [closes[at] for at in sorted(closes)], ends)

    def _same(self) -> dict[_Place, int]:
        """Return the number of each state: one for those from which the same texts follow."""
        found: dict[object, int] = {}
        alike = {place: found.setdefault(self._own(place), len(found)) for place in self.ways}
        for _ in range(_ROUNDS):
            count, found = len(found), {}
            alike = {
                place: found.setdefault(
                    (alike[place], frozenset((each, alike[to]) for each, to in ways)), len(found)
                )
                for place, ways in self.ways.items()
            }
            if len(found) == count:
                return alike
        return {place: at for at, place in enumerate(self.ways)}

    def _own(self, place: _Place) -> object:
        """Return what tells a state from others, but for where it leads."""
        return frozenset(self._closes(place)), self.found[place[0]].begun

    def _closes(self, place: _Place) -> list[tuple[Terminal, int]]:
        """Return the terminals that close the text, and which close that is."""
        at, _, whole = place
        return [
            (self.symbols[char], close)
            for char, close in self.found[at].closes.items()
            if whole is None or whole + char not in self.not_alone
        ]

    def _ways(self, place: _Place) -> Iterator[tuple[Terminal, _Place]]:
        """Return the terminals that may follow, and where they lead."""
        at, before, whole = place
        state = self.found[at]
        for char, to in state.goes.items():
            symbol = self.symbols[char]
            if before is _LastRead.SIGN or not self._is_word(symbol):
                yield symbol, (to, self._read(symbol), self._begun(whole, char))
        if whole == "":
            for char in state.closes:
                if char in self.first:
                    yield self.symbols[char], (0, self._read(self.symbols[char]), None)
        if state.begun or before is _LastRead.RUN:
            return
        named = self._named(state)
        but_first = "".join(sign for sign in self.end if sign in named)
        after_word = before is _LastRead.WORD
        words = (
            () if after_word else tuple(sorted(str(each) for each in named if self._is_word(each)))
        )
        if not after_word or len(but_first) < len(self.end):
            run = TextRun(self.begin, self.end, but_first, words, after_word)
            yield run, (0, _LastRead.RUN, None)

    def _named(self, state: State) -> set[Symbol]:
        """Return the symbols that do not simply go on with the text."""
        return {self.symbols[char] for char in (*state.goes, *state.closes, *state.refused)}

    def _read(self, symbol: Symbol) -> _LastRead:
        return _LastRead.WORD if self._is_word(symbol) else _LastRead.SIGN

    def _begun(self, whole: str | None, char: str) -> str | None:
        """Return the whole text after one more symbol, where it may still become a close."""
        if whole is None:
            return None
        more = whole + char
        return more if any(text.startswith(more) for text in self.not_alone) else None

    def _is_word(self, symbol: Symbol) -> bool:
        return isinstance(symbol, str) and symbol not in self.signs


def _merged(ways: Iterable[tuple[Terminal, int]]) -> Iterator[tuple[Terminal, int]]:
    """Make one terminal of the words and signs that lead to the same state."""
    texts: dict[int, list[str]] = {}
    for terminal, to in ways:
        if isinstance(terminal, str):
            texts.setdefault(to, []).append(terminal)
        else:
            yield terminal, to
    for to, found in texts.items():
        yield OneWord(tuple(sorted(found))) if len(found) > 1 else found[0], to


_IN_JSON = r'"\\\x00-\x1F\x7F'
"""What a JSON string escapes, within a class."""


def slices_of(signs: Collection[str]) -> tuple[str, ...]:
    """Return the slices of a vocabulary in which masks of such texts are quick, for llguidance.

    They are its own slices for JSON, but without any sign; what stands between the signs of each
    text; and all text, so that text which nothing but a token closes is as quick as it was.
    """
    if not signs:
        return ()
    every = sorted({sign for each in signs for sign in each if sign not in '"\\' and sign > " "})
    json = f"{any_but(every)[:-1]}{_IN_JSON}]"
    longer = sorted(signs, key=lambda each: (-len(each), each))
    return (f"{json}{{1,10}}", f"{json}{{1,30}}", f"{json}+", *map(_stretch, longer), "(?s:.)+")


def _stretch(signs: str) -> str:
    return f"{any_but(signs)}+"


def any_but(signs: Iterable[str]) -> str:
    """Write any character but these, as Rust's regular expressions have it."""
    return f"[^{_codes(signs)}]"


def one_of(signs: Iterable[str]) -> str:
    """Write any of these characters."""
    return f"[{_codes(signs)}]"


def _codes(signs: Iterable[str]) -> str:
    return "".join(f"\\x{{{ord(sign):x}}}" for sign in signs)
