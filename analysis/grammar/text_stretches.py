"""Write free text that plain text closes for a lexer: stretches of text, each with its sign.

A mask of llguidance is quick if llguidance knows without looking that a whole slice of the
vocabulary is allowed. It knows that if a terminal goes on with any characters of a class, not for
"anything that does not hold ``</a>``". So each text that closes, or is excluded, has a sign, and
all text up to and with a sign is one terminal: until a sign any text may follow, whatever precedes
it. The states of `text_until` tell which text is complete with a sign.

For the close ``</a>`` the sign is ``>``, and after each sign nothing is left of a close::

    state 0      [^>]*> but not [^>]*</a> -> 0         [^>]*</a> closes

Each token with a sign has to be looked at, so the sign is the rarest one in a text that stands at
its end, or far in it. In ``<e~(`` that is ``~``. After it ``(`` is a sign as well, so that a look
at tokens with a bracket is taken there alone::

    state 0      [^~]*~ but not [^~]*<e~ -> 0          [^~]*<e~ -> 1
    state 1      [^(~]*[(~] but neither ( nor [^(~]*<e~ -> 0        [^(~]*<e~ -> 1        ( closes
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .excluded_texts import State, exclusion_states
from .string_ways import json_slices, regex_escape

_FIRST = 0xF0000
"""The character that stands for the first token where states are made of characters."""


Symbol: TypeAlias = str | int
"""A text, or an opaque token by its id."""


class TextStep(Struct, frozen=True):
    """A stretch that is read, and the state of the text before it, or None if nothing precedes."""

    origin: int | None
    """The index of that state, e.g. 0, or None at the beginning of a text."""
    terminal: str
    r"""In Lark's syntax, the sign at its end included, e.g. `/[^\x{3e}]*<\/think>/`; empty if
    nothing is read."""
    token: int | None = None
    """The opaque token at its end, e.g. 151657, in place of a sign."""


class StretchedText(Struct, frozen=True):
    """Text as steps from state to state."""

    steps: Mapping[int, Sequence[TextStep]]
    r"""The steps that lead to a state; the text may go on from each with any stretch: to state 0
    e.g. by `/[^\x{3e}]*>/`."""
    closes: Sequence[Sequence[TextStep]]
    r"""The last step of each text that closes it, e.g. by `/[^\x{3e}]*<\/think>/`."""
    signs: Mapping[int, str]
    """The signs at which the stretches after a state end, e.g. {0: ">", 1: ">t"}."""
    marks: Mapping[str, Sequence[str]]
    """Texts that stand in its place, cut where its stretches would end, e.g. {"<think>":
    ["<think>"]}."""


_FAR = 2
"""A sign this far in a text identifies it: the text before it is rarely met otherwise."""
_SHARE = {
    **dict.fromkeys("!?;", 2),
    **dict.fromkeys("$[]{}|*\\=", 2),
    **dict.fromkeys("\n\t)", 3),
    **dict.fromkeys("/<>:,'\"", 5),
    **dict.fromkeys("(-", 10),
    **dict.fromkeys("_.", 20),
}
"""How many of a thousand tokens hold a sign, in the vocabularies of Qwen and DeepSeek, and more for
those of prose, where they begin a stretch too often; 1 for others."""
_STATE = 4
"""The cost of a state in such shares: after each stretch the parser looks at the steps of all."""
_TRIED = 8
"""Maximum number of signs of one text that are tried, the rare ones first."""


def text_signs(closes: Iterable[Sequence[Symbol]], exclude: Collection[str]) -> str | None:
    """Return the signs of free text that make its masks quickest.

    Return None if a text has none: letters, digits and blanks stand in most tokens.
    """
    before: list[str] = []
    to_tell = set(exclude)
    for close in closes:
        text = "".join([symbol for symbol in close if isinstance(symbol, str)])
        before.append(text)
        # If a token follows, it already shows where the text ends.
        if isinstance(close[-1], str):
            to_tell.add(text)
    texts = tuple([text for text in dict.fromkeys([*before, *exclude]) if text])
    return _cheapest(texts, tuple([text for text in texts if text in to_tell]))


@lru_cache(maxsize=256)
def _cheapest(texts: tuple[str, ...], to_tell: tuple[str, ...]) -> str | None:
    """Return the cheapest signs, cached: many requests share the texts that close."""
    return _Signs(texts).cheapest([_possible(pair) for pair in to_tell])


def _possible(text: str) -> list[str]:
    """Return the signs that a text may have."""
    far = {sign for sign in text[_FAR:] + text[-1] if not sign.isalnum() and sign != " "}
    return sorted(far, key=lambda sign: (_SHARE.get(sign, 1), sign != text[-1], sign))[:_TRIED]


@dataclass(slots=True)
class _Signs:
    texts: Sequence[str]
    """The texts that the signs have to tell apart, e.g. ("</think>", "<think>", "<|im_end|>")."""
    best: str | None = None
    """The cheapest set of signs so far, e.g. ">", or None."""
    least: float = inf
    """Its cost, e.g. 15; infinite before the first set."""

    def cheapest(self, open_: Sequence[Sequence[str]], chosen: str = "") -> str | None:
        """Add signs until each text has one of its own; return the cheapest set."""
        cost = self._cost(chosen)
        rest = [signs for signs in open_ if not set(signs) & set(chosen)]
        if cost < self.least and rest:
            for sign in min(rest, key=len):
                self.cheapest(rest, chosen + sign)
        elif cost < self.least:
            self.best, self.least = "".join(sorted(chosen)), cost
        return self.best

    def _cost(self, signs: str) -> int:
        begun = {
            text[: at + 1]
            for text in self.texts
            for at, char in enumerate(text[:-1])
            if char in signs
        }
        return sum(_SHARE.get(sign, 1) for sign in signs) + _STATE * len(begun)


def text_until(
    closes: Sequence[Sequence[Symbol]],
    exclude: Sequence[str],
    signs: str,
    not_alone: Collection[Sequence[Symbol]] = (),
    marks: Iterable[str] = (),
    *,
    may_be_empty: bool = False,
    counted: tuple[int, int] | None = None,
) -> StretchedText:
    """Return the text that one of `closes` ends, without any of `exclude` before.

    Before those that are `not_alone`, the text is not empty; it may begin with one, if that is a
    single sign which begins nothing else: a line break that closes a text may come first in it.
    Where it may be empty, the state 0 is there before any text. `marks` may stand in its place.
    `counted` are the fewest characters of a text without signs, and the most between two signs.
    """
    tokens: dict[int, str] = {}
    for symbol in (symbol for close in closes for symbol in close):
        if isinstance(symbol, int):
            tokens.setdefault(symbol, chr(_FIRST + len(tokens)))

    def encoded(texts: Collection[Sequence[Symbol]]) -> list[str]:
        return [
            "".join(piece if isinstance(piece, str) else tokens[piece] for piece in text)
            for text in texts
        ]

    ends = encoded(closes)
    lone = encoded(not_alone)
    begins = {text[0] for text in ends if len(text) > 1} | {text[0] for text in exclude}
    first = [text for text in lone if text in signs and text not in begins]
    ids = {char: token for token, char in tokens.items()}
    found = exclusion_states(ends, exclude)
    tails = list(_tails((text for text in (*ends, *exclude) if text[-1] not in ids), signs))
    state_signs = ["".join(sorted({*signs, *_last(state.read, tails)})) for state in found]
    made = _Stretcher(found, state_signs, ids, lone, first, counted)
    cut = {mark: made.cut(mark) for mark in marks}
    return replace(made.text(len(closes), may_be_empty=may_be_empty), marks=cut)


def _tails(texts: Iterable[str], signs: str) -> Iterator[tuple[str, str]]:
    """Return the prefixes of texts that hold their sign, each with its text's last character."""
    for text in texts:
        key = max((at for at, char in enumerate(text) if char in signs), default=len(text))
        yield from ((text[:size], text[-1]) for size in range(key + 1, len(text)))


def _last(read: str, tails: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return the last characters of the texts that have begun."""
    return (last for begun, last in tails if read.endswith(begun))


_Place: TypeAlias = tuple[int, str | None]
"""A state after a sign; the whole text, if it may become a close that must not stand alone."""
_START: _Place = (0, None)


class _Closed(Struct, frozen=True):
    """The text is closed, by one of its closes."""

    close: int
    """The index of the close, e.g. 0."""


_Outcome: TypeAlias = _Place | _Closed | None
"""The state after a stretch, or None if it must not be written."""


class _Stretch(Struct, frozen=True):
    """Stretches that end alike."""

    end: str
    """The text before the sign or token, e.g. "</think"."""
    outcome: _Outcome
    """The state after them, e.g. (0, None), or the close, e.g. `_Closed(0)`."""
    is_whole: bool = False
    """Whether nothing precedes that, e.g. True for "ool_call" in the state after "<t"."""

    def unlike(self, others: Iterable[_Stretch]) -> list[_Stretch]:
        """Return the others that these include, and that have another outcome."""
        alike = [] if self.is_whole else [other for other in others if other.end.endswith(self.end)]
        return [other for other in alike if other.outcome != self.outcome]

    def regex(self, ends: Sequence[str], run: str) -> str:
        """Write the stretches with one of some ends, and `run` before it."""
        return f"{'' if self.is_whole else run}{_one_of(ends)}"


class _Stretcher:
    def __init__(
        self,
        states: Sequence[State],
        signs: Sequence[str],
        tokens: Mapping[str, int],
        not_alone: Sequence[str],
        first: Sequence[str],
        counted: tuple[int, int] | None,
    ) -> None:
        self.states, self.signs, self.tokens = states, signs, tokens
        """`signs` has the signs of each state."""
        self.counted = counted
        self.not_alone, self.first = not_alone, first
        self.texts_before: dict[tuple[str, str], list[tuple[_Stretch, list[str]]]] = {}
        """Texts that may precede each sign or token, among some signs, wherever the text is."""

    def text(self, closes: int, *, may_be_empty: bool) -> StretchedText:
        """Follow all states from the first one."""
        start: _Place = (0, "" if self.not_alone else None)
        number: dict[_Place, int] = {start: 0} if may_be_empty else {}
        steps: dict[int, list[TextStep]] = {0: []} if may_be_empty else {}
        closed: list[list[TextStep]] = [[] for _ in range(closes)]
        waiting: list[tuple[int | None, _Place]] = [(0 if may_be_empty else None, start)]
        # The list grows while it is walked: states that no text leads to are never written.
        for origin, place in waiting:
            for outcome, terminal, token in self._steps(place):
                step = TextStep(origin, terminal, token)
                if isinstance(outcome, _Closed):
                    closed[outcome.close].append(step)
                    continue
                if outcome not in number:
                    number[outcome] = len(number)
                    waiting.append((number[outcome], outcome))
                steps.setdefault(number[outcome], []).append(step)
        signs = {at: self.signs[state] for (state, _), at in number.items()}
        return StretchedText(steps, closed, signs, {})

    def cut(self, text: str) -> list[str]:
        """Cut a text where stretches of it would end."""
        found, at, signs = [""], 0, self.signs[0]
        for char in text:
            found[-1] += char
            at = self.states[at].goes.get(char, 0)
            if char in signs:
                found.append("")
                signs = self.signs[at]
        return [piece for piece in found if piece]

    def _after(self, place: _Place, run: str, end: str) -> _Outcome:
        """Return the outcome of a run of text and the sign or token after it."""
        at, whole = place
        for char in run:
            at = self.states[at].goes.get(char, 0)
        state = self.states[at]
        read = None if whole is None else whole + run + end
        if end in state.closes:
            if read is None or read not in self.not_alone:
                return _Closed(state.closes[end])
            return _START if read in self.first else None
        # A token inside the text would be read as markup.
        if end in state.refused or end in self.tokens:
            return None
        return state.goes.get(end, 0), read if self._is_begun(read) else None

    def _is_begun(self, whole: str | None) -> bool:
        return whole is not None and any(text.startswith(whole) for text in self.not_alone)

    def _anywhere(self, signs: str, end: str) -> list[tuple[_Stretch, list[str]]]:
        """Return the texts that tell one outcome from another, whatever precedes them.

        With each stand its lookalikes with another outcome, as regular expressions.
        """
        known = self.texts_before.get((signs, end))
        if known is None:
            found: list[_Stretch] = []
            for state in self.states:
                word = state.read
                is_told = end in state.goes or end in state.closes or end in state.refused
                if word and (not is_told or set(word) & set(signs)):
                    continue
                outcome = self._after(_START, word, end)
                # A text whose suffix has the same outcome needs no terminal of its own.
                if not word or outcome != self._after(_START, word[1:], end):
                    found.append(_Stretch(word, outcome))
            known = [
                (stretch, self._sign_regexes(stretch.unlike(found), signs, end))
                for stretch in found
            ]
            self.texts_before[signs, end] = known
        return known

    def _sign_regexes(self, stretches: Iterable[_Stretch], signs: str, end: str) -> list[str]:
        """Write stretches that are not empty, each with its sign; tokens are not among them."""
        sign, run = "" if end in self.tokens else end, f"{regex_without(signs)}*"
        return [
            stretch.regex([regex_escape(stretch.end + sign)], run)
            for stretch in stretches
            if stretch.end + sign
        ]

    def _here(self, place: _Place, end: str) -> Iterator[_Stretch]:
        """Return the stretches whose outcome depends on the text before them."""
        at, whole = place
        waiting = [("", at)]
        for run, state in waiting:
            outcome = self._after(place, run, end)
            if outcome != self._after(_START, run, end):
                yield _Stretch(run, outcome, is_whole=True)
            for char, to in self.states[state].goes.items():
                longer = run + char
                goes_on = len(self.states[to].read) > len(longer) or self._is_begun(
                    None if whole is None else whole + longer
                )
                if char not in self.signs[at] and goes_on:
                    waiting.append((longer, to))

    def _steps(self, place: _Place) -> Iterator[tuple[_Place | _Closed, str, int | None]]:
        """Return where the stretches after a state lead, and the terminals of those."""
        any_ = regex_without(self.signs[place[0]])
        for end, token in self.tokens.items():
            for stretch, but_not in self._with_lookalikes(place, end):
                if stretch.outcome is None:
                    continue
                if not stretch.end and stretch.outcome == self._after(place, "", end):
                    yield stretch.outcome, "", token
                if stretch.end or not stretch.is_whole:
                    run = any_ + self._times(place, stretch)
                    whole = stretch.regex([regex_escape(stretch.end)], run)
                    yield stretch.outcome, _unless_matching(whole, but_not), token
        alike: dict[object, tuple[_Stretch, list[str], list[str]]] = {}
        for end in self.signs[place[0]]:
            for stretch, but_not in self._with_lookalikes(place, end):
                # Stretches without exclusions can share a terminal, and so can those that differ
                # only in their signs.
                own = stretch.end if but_not and stretch.end else None
                key = (stretch.outcome, stretch.is_whole, not stretch.end, own)
                _, texts, others = alike.setdefault(key, (stretch, [], []))
                texts.append(regex_escape(stretch.end + end))
                others += but_not
        for stretch, texts, but_not in alike.values():
            if stretch.outcome is not None:
                run = any_ + self._times(place, stretch, at_sign=1)
                yield stretch.outcome, _unless_matching(stretch.regex(texts, run), but_not), None

    def _times(self, place: _Place, stretch: _Stretch, at_sign: int = 0) -> str:
        """Return how many characters precede the end of a stretch, as regular expressions have it.

        A sign is one more of the text, unless a close has begun with it or before it.
        """
        # Without any, a token is a step of its own.
        fewest = 0 if stretch.end or at_sign else 1
        if self.counted is None:
            return "+" if fewest else "*"
        least, most = self.counted
        if isinstance(stretch.outcome, _Closed):
            return f"{{{max(fewest, least) if place[1] == '' else fewest},{most}}}"
        begun = stretch.outcome is not None and stretch.outcome[0] != 0
        return f"{{{fewest},{most if begun else most - at_sign}}}"

    def _with_lookalikes(self, place: _Place, end: str) -> Iterator[tuple[_Stretch, list[str]]]:
        """Return the stretches up to a sign or token, and the lookalikes of each."""
        signs, here = self.signs[place[0]], list(self._here(place, end))
        for stretch, but_not in self._anywhere(signs, end):
            unlike = stretch.unlike(here) if here else []
            yield (
                stretch,
                [*but_not, *self._sign_regexes(unlike, signs, end)] if unlike else but_not,
            )
        yield from ((stretch, []) for stretch in here)


def _unless_matching(regex: str, but_not: Sequence[str]) -> str:
    return f"/{regex}/ & ~/{'|'.join(but_not)}/" if but_not else f"/{regex}/"


def _one_of(regexes: Sequence[str]) -> str:
    return regexes[0] if len(regexes) == 1 else f"(?:{'|'.join(regexes)})"


_FILLED = r'[^\s"\\\x00-\x1F\x7F]'
"""A character, but no whitespace, that JSON strings contain unescaped."""
_FILLED_TEXT = r"[^\s\x1c-\x1f]"
"""Any character that is not whitespace."""


def vocabulary_slices(
    signs: Collection[str], *, edged: bool = False, patterns: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the slices of a vocabulary in which masks of such texts are quick, for llguidance.

    They are its own slices for JSON; those of `patterns`, for made-up names and quoted strings; the
    text between the signs of each text; and all text, so that text which only a token closes stays
    as quick as it was. `edged` is whether such a text begins with any character but whitespace.
    """
    if not signs and not patterns:
        return ()
    # If two slices overlap and one of them is allowed, llguidance checks all tokens of the other,
    # so each of these slices contains the one before it; slices for names and for the beginnings of
    # edged texts apply to these only.
    every: list[str] = [""]
    # A letter is a sign only after some of a marker. The other texts find no slice of their own if
    # their signs are joined to it, and most tokens hold it.
    order = sorted(signs, key=lambda sign: (any(map(str.isalnum, sign)), len(sign), sign))
    for sign in order:
        every.append("".join(sorted({*every[-1], *sign})))
    stretches = [
        f"{regex_without(barred)}{some}"
        for barred in dict.fromkeys(reversed(every[1:]))
        # The first one is for texts of bounded length.
        for some in ("{1,30}", "+")
    ]
    # The first mask of an edged text finds most tokens in a slice of its own. A second one, of all
    # text without whitespace, would hold quotes, which JSON's do not: as the two overlap, each mask
    # at the beginning of a JSON string would take milliseconds.
    edge = [f"{_FILLED}+"] if edged else []
    if edged and signs:
        # Of an edged text with exclusions. With the signs, it would lie in the slices of JSON, too.
        edge.append(f"{_FILLED_TEXT[:-1]}{_codes(every[-1])}]+")
    return (*edge, *dict.fromkeys((*json_slices(), *patterns)), *stretches, "(?s:.)+")


def open_texts(signs: str, texts: Sequence[str], most: float, first: str = "") -> Iterator[str]:
    """Write texts of up to `most` characters, or inf, that are without each of `texts`.

    They begin with a character of the class `first`, if there is one. They repeat any character but
    a sign, or a sign with other characters before it than in `texts`: for `</a>` that is
    `[^>]|[^>a]>|[^>/]a>`. llguidance would find no slice behind a character that may be the first
    of several. It does in a run of any characters at the end.
    """
    any_ = regex_without(signs)
    either = _one_of([any_, *_other_signs(signs, texts)])
    if first:
        # A repeated first character hides the slice after it, so also write it once.
        head = f"{first[:-1]}{any_[2:]}"
        yield from (f"{head}+{either}*{any_}*", f"{head}{either}*{any_}*")
    elif most == inf:
        # Ending with any character: behind one that may begin a sign, it finds none in `*`.
        yield f"{either}*{any_}+"
    else:
        # Of a counted repetition llguidance finds none either behind such a character.
        yield f"{any_}{{1,{most:.0f}}}"


def _other_signs(signs: str, texts: Sequence[str]) -> Iterator[str]:
    """Write each sign with one or two characters before it, as in none of `texts`."""
    for sign in signs:
        before = [text[:at] for text in texts for at, char in enumerate(text) if char == sign]
        last = {text[-1:] for text in before}
        if "" not in last:
            yield f"{regex_without([*signs, *sorted(last)])}{regex_escape(sign)}"
        for char in sorted(last - {"", *signs}):
            second = {text[-2:-1] for text in before if text[-1] == char}
            if "" not in second:
                yield f"{regex_without([*signs, *sorted(second)])}{regex_escape(char + sign)}"


def regex_without(signs: Iterable[str]) -> str:
    """Write any character but these, as Rust's regular expressions have it."""
    return f"[^{_codes(signs)}]"


def _codes(signs: Iterable[str]) -> str:
    return "".join(f"\\x{{{ord(sign):x}}}" for sign in signs)
