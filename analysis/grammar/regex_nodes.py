r"""Represent a regular expression as a tree, and derive facts from the tree alone.

The nodes are sets of characters (`code_points.py`), sequences, choices, repetitions and anchors;
the functions compute alphabets, lengths, intersections and differences, and write a tree as text
for Rust's `regex` and Python's `re`.

Digits are a set of characters, and a bound that is missing is None:

    >>> from autoparser.analysis.grammar.regular_expressions import parse_pattern
    >>> regex = parse_pattern(r"[a-c]{2,4}-\d")
    >>> shortest_match(regex), longest_match(regex), rust_regex(regex)
    (4, 6, '(?:[a-c]){2,4}\\x{2d}[0-9]')
    >>> rust_regex(without_texts(parse_pattern("a|b|c"), ["b"]))
    '(?:a|c)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby, product
from math import inf
from typing import TypeAlias

from msgspec import Struct

from .code_points import ANY, CodePoints


class SetCharacter(Struct, frozen=True):
    """One character of a set."""

    points: CodePoints
    r"""The set, e.g. the digits for `\d`."""


class RegexSequence(Struct, frozen=True):
    """Parts in a sequence; without parts, the empty text."""

    parts: tuple[Regex, ...] = ()
    """The parts, e.g. three for `a[bc]d*`."""


class RegexChoice(Struct, frozen=True):
    """One of several expressions."""

    options: tuple[Regex, ...]
    """The alternatives, e.g. two for `a|b`."""


class RegexRepeat(Struct, frozen=True):
    """Repeats an expression `least` to `most` times; None means any number."""

    item: Regex
    """The repeated expression, e.g. `[a-z]` in `[a-z]{2,4}`."""
    least: int
    """The minimum, e.g. 2 for `{2,4}`."""
    most: int | None
    """The maximum, e.g. 4 for `{2,4}`, or None for `{2,}`."""


class TextAnchor(Struct, frozen=True):
    """The text's beginning, or its end."""

    start: bool
    """True for `^`, False for `$`, e.g. the first character of "^a+b$"."""


Regex: TypeAlias = SetCharacter | RegexSequence | RegexChoice | RegexRepeat | TextAnchor


@lru_cache(maxsize=1024)
def regex_alphabet(regex: Regex, *, first: bool = False) -> CodePoints:
    """Return all characters of texts that match; with `first`, those that may begin one."""
    match regex:
        case SetCharacter(points):
            return points
        case RegexSequence(parts) | RegexChoice(parts):
            ranges: list[tuple[int, int]] = []
            for part in parts:
                ranges += regex_alphabet(part, first=first).ranges
                # A part that may be empty lets the next one begin the text, too.
                if first and isinstance(regex, RegexSequence) and shortest_match(part):
                    break
            return CodePoints.of(*ranges)
        case RegexRepeat(item):
            return regex_alphabet(item, first=first)
        case TextAnchor():
            return CodePoints()


def choice_of_regexes(options: Sequence[Regex]) -> Regex:
    """Return one of some expressions, of which there is at least one."""
    return options[0] if len(options) == 1 else RegexChoice(tuple(options))


def flat_sequence(regex: Regex) -> list[Regex]:
    """Return the parts of a sequence, with nested sequences flattened."""
    if not isinstance(regex, RegexSequence):
        return [regex]
    return [inner for part in regex.parts for inner in flat_sequence(part)]


def _length(
    regex: Regex,
    length: Callable[[Regex], float],
    choose: Callable[..., float],
    times: Callable[[float, int, int | None], float],
) -> float:
    """Add up a length: `choose` among options, `times` for a repeated item.

    `length` returns the length of a part; it is cached.
    """
    match regex:
        case SetCharacter():
            return 1
        case RegexSequence(parts):
            return sum(map(length, parts))
        case RegexChoice(options):
            return choose(map(length, options), default=0)
        case RegexRepeat(item, least, most):
            return times(length(item), least, most)
        case TextAnchor():
            return 0


@lru_cache(maxsize=4096)
def shortest_match(regex: Regex) -> int:
    """Return the length in characters of the shortest text that matches."""
    return int(_length(regex, shortest_match, min, lambda item, least, _: item * least))


def longest_match(regex: Regex) -> int | None:
    """Return the length in characters of the longest matching text, or None if unbounded."""
    length = _longest(regex)
    return None if length == inf else int(length)


@lru_cache(maxsize=4096)
def _longest(regex: Regex) -> float:
    def times(item: float, _: int, most: int | None) -> float:
        # `inf * 0` is not a number.
        return 0 if 0 in (item, most) else inf if most is None else item * most

    return _length(regex, _longest, max, times)


@lru_cache(maxsize=4096)
def counted_places(regex: Regex) -> int:
    """Return how many places an engine distinguishes that counts through one matching text."""

    def times(item: float, least: int, most: int | None) -> float:
        # An open count loops, so it needs no place of its own.
        return item * (max(least, 1) if most is None else most)

    return int(_length(regex, counted_places, max, times))


def without_empty(regex: Regex) -> Regex | None:
    """Return an expression of the same texts but the empty one, or None if no text is left.

    A repetition of what may be empty would be a rule that begins with itself, which llama.cpp
    refuses; ``(a?)*`` is written as ``a*``.
    """
    match regex:
        case SetCharacter():
            return regex
        case TextAnchor():
            return None
        case RegexChoice(options):
            kept = [option for option in map(without_empty, options) if option is not None]
            return RegexChoice(tuple(kept)) if kept else None
        case RegexRepeat(item, least, most):
            if shortest_match(item) > 0:
                return None if most == 0 else RegexRepeat(item, max(least, 1), most)
            filled = without_empty(item)
            return None if filled is None or most == 0 else RegexRepeat(filled, 1, most)
        case RegexSequence(parts):
            return _filled_sequence(parts)


def _filled_sequence(parts: tuple[Regex, ...]) -> Regex | None:
    """Return a choice in which each part in turn is the first that is not empty."""
    options: list[Regex] = []
    for at, part in enumerate(parts):
        filled = without_empty(part)
        if filled is not None:
            options.append(RegexSequence((filled, *parts[at + 1 :])))
        if shortest_match(part) > 0:
            break
    return RegexChoice(tuple(options)) if options else None


_MOST_ROWS = 64
_LONGEST_ROW = 256


@lru_cache(maxsize=256)
def intersect_rows(first: Regex, second: Regex) -> RegexChoice | None:
    """Return the expression that both match, if each matches rows of known length.

    A row is one set per character, as in uuids and dates, whose pattern and format say nearly the
    same. Return None if one is no such expression; no options if no text matches both.
    """
    rows = [_rows(first), _rows(second)]
    if rows[0] is None or rows[1] is None:
        return None
    # A dict keeps the order, so that a grammar is the same in every run.
    found: dict[tuple[CodePoints, ...], None] = {}
    for one, other in product(rows[0], rows[1]):
        if len(one) == len(other):
            common_row = tuple(left & right for left, right in zip(one, other, strict=True))
            if all(common_row):
                found[common_row] = None
    return RegexChoice(tuple(map(_from_row, found)))


def _rows(regex: Regex) -> list[tuple[CodePoints, ...]] | None:
    """Return the characters of each row that an expression matches, or None if they are many."""
    found: list[tuple[CodePoints, ...]] | None = None
    match regex:
        case SetCharacter(points):
            return [(points,)]
        case RegexChoice(options):
            found = []
            for option in options:
                rows = _rows(option)
                found = None if found is None or rows is None else [*found, *rows]
        case RegexSequence(parts):
            found = _in_row(parts)
        case RegexRepeat(item, least, most):
            # Of another count, the rows would have several lengths.
            if least == most and least <= _LONGEST_ROW:
                found = _in_row([item] * least)
        case TextAnchor():
            pass
    return found if found is not None and len(found) <= _MOST_ROWS else None


def _in_row(parts: Iterable[Regex]) -> list[tuple[CodePoints, ...]] | None:
    found: list[tuple[CodePoints, ...]] = [()]
    for part in parts:
        rows = _rows(part)
        # Choices in a row multiply.
        if rows is None or len(rows) * len(found) > _MOST_ROWS:
            return None
        found = [(*row, *more) for row in found for more in rows]
    return found if all(len(row) <= _LONGEST_ROW for row in found) else None


def _from_row(row: tuple[CodePoints, ...]) -> Regex:
    runs = [(points, len(list(same))) for points, same in groupby(row)]
    return RegexSequence(
        tuple(
            SetCharacter(points) if count == 1 else RegexRepeat(SetCharacter(points), count, count)
            for points, count in runs
        )
    )


def without_texts(regex: Regex, texts: Iterable[str]) -> Regex | None:
    """Return an expression of the same texts but some, or None if no text is left.

    `a[b-z]*` without `ax` is a tree of beginnings: after `a` comes nothing, one of `b-wyz` and
    the rest, or `x` and one of `b-z` at least.
    """
    barred = set(texts)
    options: list[Regex] = []
    if not shortest_match(regex) and "" not in barred:
        options.append(RegexSequence())
    ways = _beginnings(regex)
    firsts = sorted({text[0] for text in barred if text})
    # A barred first character goes on with anything but the rests of these texts.
    for first in firsts:
        one = CodePoints.among(first)
        rests = tuple(rest for points, rest in ways if points & one)
        later = (text[1:] for text in barred if text[:1] == first)
        left = without_texts(RegexChoice(rests), later) if rests else None
        if left is not None:
            options.append(RegexSequence((SetCharacter(one), left)))
    # Any other first character goes on as before.
    for points, rest in ways:
        others = points - CodePoints.among("".join(firsts))
        if others:
            options.append(RegexSequence((SetCharacter(others), rest)))
    return RegexChoice(tuple(options)) if options else None


def _beginnings(regex: Regex) -> list[tuple[CodePoints, Regex]]:
    """Return the ways to begin: the first character's set, and the rest of the expression."""
    match regex:
        case SetCharacter(points):
            return [(points, RegexSequence())]
        case RegexChoice(options):
            return [way for option in options for way in _beginnings(option)]
        case RegexSequence(parts):
            found: list[tuple[CodePoints, Regex]] = []
            for at, part in enumerate(parts):
                behind = parts[at + 1 :]
                found += [
                    (points, RegexSequence((rest, *behind))) for points, rest in _beginnings(part)
                ]
                if shortest_match(part):
                    break
            return found
        case RegexRepeat(item, least, most):
            one_less = RegexRepeat(item, max(least - 1, 0), None if most is None else most - 1)
            ways = [] if most == 0 else _beginnings(item)
            return [(points, RegexSequence((rest, one_less))) for points, rest in ways]
        case TextAnchor():
            return []


def with_open_counts(regex: Regex, most: int, few: int) -> Regex:
    """Return a looser expression, without counts above `most` of more than `few` characters."""
    match regex:
        case RegexSequence(parts):
            return RegexSequence(tuple(with_open_counts(part, most, few) for part in parts))
        case RegexChoice(options):
            return RegexChoice(tuple(with_open_counts(option, most, few) for option in options))
        case RegexRepeat(item, least, last):
            # Small sets, such as digits, are counted cheaply.
            is_wide = isinstance(item, SetCharacter) and len(item.points) > few
            if is_wide and max(least, last or 0) > most:
                least, last = min(least, 1), None
            return RegexRepeat(with_open_counts(item, most, few), least, last)
        case _:
            return regex


# A regular expression as text, for Rust's `regex`, for Python's `re` and for schemas.


@lru_cache(maxsize=1024)
def rust_regex(regex: Regex) -> str:
    """Write an expression without anchors for Rust, so that it matches a text as a whole."""
    return _text(regex, lambda point: f"\\x{{{point:x}}}")


@lru_cache(maxsize=1024)
def python_regex(regex: Regex) -> str:
    """Write an expression without anchors for Python's `re.fullmatch`."""
    return _text(regex, lambda point: f"\\U{point:08x}")


def ecma_regex(regex: Regex) -> str:
    """Write an expression without anchors for the `pattern` of a schema, as whole texts."""
    written = _text(regex, lambda point: f"\\u{{{point:x}}}").replace(_ANY, r"[\d\D]")
    return f"^(?:{written})$"


def _text(regex: Regex, escape: Callable[[int], str]) -> str:
    match regex:
        case SetCharacter(points):
            return _character(points, escape)
        case RegexSequence(parts):
            return "".join(_text(part, escape) for part in parts)
        case RegexChoice(options):
            return f"(?:{'|'.join(_text(option, escape) for option in options)})"
        case RegexRepeat(item, least, most):
            count = "*" if (least, most) == (0, None) else _count(least, most)
            return f"(?:{_text(item, escape)}){count}"
        case TextAnchor():
            raise ValueError("anchors must be resolved before")


_ANY = "(?s:.)"


def _count(least: int, most: int | None) -> str:
    return f"{{{least},{'' if most is None else most}}}"


def _character(points: CodePoints, escape: Callable[[int], str]) -> str:
    if points == ANY:
        return _ANY

    def point(number: int) -> str:
        # All but letters and digits are escaped, so that no sign has a meaning.
        char = chr(number)
        return char if char.isascii() and char.isalnum() else escape(number)

    if points.single is not None:
        return point(ord(points.single))
    spans = (f"{point(first)}-{point(last)}" for first, last in points.ranges)
    # If nothing is left, an unmatchable expression: the text's beginning after a character.
    return f"[{''.join(spans)}]"
