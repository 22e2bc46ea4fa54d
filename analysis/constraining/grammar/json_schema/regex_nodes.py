"""A regular expression as a tree, and what can be told from the tree alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, product
from typing import TypeAlias

from .code_points import CodePoints


@dataclass(frozen=True, slots=True)
class Character:
    """One character of a set."""

    points: CodePoints


@dataclass(frozen=True, slots=True)
class RegexSequence:
    """One part after the other; no parts: the empty text."""

    parts: tuple[Regex, ...] = ()


@dataclass(frozen=True, slots=True)
class RegexChoice:
    """One of several."""

    options: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class RegexRepeat:
    """`least` to `most` times; None: any number."""

    item: Regex
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Anchor:
    """The text's beginning, or its end."""

    start: bool


Regex: TypeAlias = Character | RegexSequence | RegexChoice | RegexRepeat | Anchor


def alphabet(regex: Regex, *, first: bool = False) -> CodePoints:
    """Return all characters of texts that match; with `first`, those that may begin one."""
    match regex:
        case Character(points):
            return points
        case RegexSequence(parts) | RegexChoice(parts):
            found = CodePoints()
            for part in parts:
                found |= alphabet(part, first=first)
                if first and isinstance(regex, RegexSequence) and shortest(part):
                    break
            return found
        case RegexRepeat(item):
            return alphabet(item, first=first)
        case Anchor():
            return CodePoints()


def flat(regex: Regex) -> list[Regex]:
    """Return the parts that follow each other, with sequences inside sequences taken apart."""
    if not isinstance(regex, RegexSequence):
        return [regex]
    return [inner for part in regex.parts for inner in flat(part)]


def shortest(regex: Regex) -> int:
    """Return the length in characters of the shortest text that matches."""
    match regex:
        case Character():
            return 1
        case RegexSequence(parts):
            return sum(map(shortest, parts))
        case RegexChoice(options):
            return min(map(shortest, options))
        case RegexRepeat(item, least, _):
            return shortest(item) * least
        case Anchor():
            return 0


def longest(regex: Regex) -> int | None:
    """Return the length in characters of the longest text that matches; None: there is none."""
    match regex:
        case Character():
            return 1
        case RegexSequence(parts):
            lengths = [longest(part) for part in parts]
            return None if None in lengths else sum(length or 0 for length in lengths)
        case RegexChoice(options):
            lengths = [longest(option) for option in options]
            return None if None in lengths else max(length or 0 for length in lengths)
        case RegexRepeat(item, _, most):
            length = longest(item)
            if length == 0 or most == 0:
                return 0
            return None if length is None or most is None else length * most
        case Anchor():
            return 0


def counted(regex: Regex) -> int:
    """Return how many places an engine tells apart that counts through one text that matches."""
    match regex:
        case Character():
            return 1
        case RegexSequence(parts):
            return sum(map(counted, parts))
        case RegexChoice(options):
            return max(map(counted, options), default=0)
        case RegexRepeat(item, least, most):
            return counted(item) * (max(least, 1) if most is None else most)
        case Anchor():
            return 0


def without_empty(regex: Regex) -> Regex | None:
    """Return what matches the same texts but the empty one; None: no text is left.

    A repetition of what may be empty would be a rule that begins with itself, which llama.cpp
    refuses; ``(a?)*`` is written as ``a*``.
    """
    match regex:
        case Character():
            return regex
        case Anchor():
            return None
        case RegexChoice(options):
            kept = [option for option in map(without_empty, options) if option is not None]
            return RegexChoice(tuple(kept)) if kept else None
        case RegexRepeat(item, least, most):
            if shortest(item) > 0:
                return None if most == 0 else RegexRepeat(item, max(least, 1), most)
            filled = without_empty(item)
            return None if filled is None or most == 0 else RegexRepeat(filled, 1, most)
        case RegexSequence(parts):
            return _filled_sequence(parts)


def _filled_sequence(parts: tuple[Regex, ...]) -> Regex | None:
    """Let each part in turn be the first that is not empty."""
    options: list[Regex] = []
    for at, part in enumerate(parts):
        filled = without_empty(part)
        if filled is not None:
            options.append(RegexSequence((filled, *parts[at + 1 :])))
        if shortest(part) > 0:
            break
    return RegexChoice(tuple(options)) if options else None


_MOST_ROWS = 64
_LONGEST_ROW = 256


def intersected(first: Regex, second: Regex) -> RegexChoice | None:
    """Return what both match, where each matches rows of known length: one set for each character.

    So are uuids, dates and the like, whose pattern and format say nearly the same. None where one
    is no such expression; no options: no text matches both.
    """
    rows = [_rows(first), _rows(second)]
    if rows[0] is None or rows[1] is None:
        return None
    found: dict[tuple[CodePoints, ...], None] = {}
    for one, other in product(rows[0], rows[1]):
        if len(one) == len(other):
            both = tuple(left & right for left, right in zip(one, other, strict=True))
            if all(both):
                found[both] = None
    return RegexChoice(tuple(map(_from_row, found)))


def _rows(regex: Regex) -> list[tuple[CodePoints, ...]] | None:
    """Return the characters of each row that an expression matches; None where they are many."""
    found: list[tuple[CodePoints, ...]] | None = None
    match regex:
        case Character(points):
            return [(points,)]
        case RegexChoice(options):
            found = []
            for option in options:
                rows = _rows(option)
                found = None if found is None or rows is None else [*found, *rows]
        case RegexSequence(parts):
            found = _in_row(parts)
        case RegexRepeat(item, least, most):
            if least == most and least <= _LONGEST_ROW:
                found = _in_row([item] * least)
        case Anchor():
            pass
    return found if found is not None and len(found) <= _MOST_ROWS else None


def _in_row(parts: Iterable[Regex]) -> list[tuple[CodePoints, ...]] | None:
    found: list[tuple[CodePoints, ...]] = [()]
    for part in parts:
        rows = _rows(part)
        if rows is None or len(rows) * len(found) > _MOST_ROWS:
            return None
        found = [(*row, *more) for row in found for more in rows]
    return found if all(len(row) <= _LONGEST_ROW for row in found) else None


def _from_row(row: tuple[CodePoints, ...]) -> Regex:
    runs = [(points, len(list(same))) for points, same in groupby(row)]
    return RegexSequence(
        tuple(
            Character(points) if count == 1 else RegexRepeat(Character(points), count, count)
            for points, count in runs
        )
    )


def without_texts(regex: Regex, texts: Iterable[str]) -> Regex | None:
    """Return what matches the same texts but some; None: no text is left.

    `a[b-z]*` without `ax` is a tree of beginnings: after `a` comes nothing, one of `b-wyz` and
    the rest, or `x` and one of `b-z` at least.
    """
    barred = set(texts)
    options: list[Regex] = []
    if not shortest(regex) and "" not in barred:
        options.append(RegexSequence())
    ways = _beginnings(regex)
    firsts = sorted({text[0] for text in barred if text})
    for first in firsts:
        one = CodePoints.among(first)
        rests = tuple(rest for points, rest in ways if points & one)
        later = (text[1:] for text in barred if text[:1] == first)
        left = without_texts(RegexChoice(rests), later) if rests else None
        if left is not None:
            options.append(RegexSequence((Character(one), left)))
    for points, rest in ways:
        others = points - CodePoints.among("".join(firsts))
        if others:
            options.append(RegexSequence((Character(others), rest)))
    return RegexChoice(tuple(options)) if options else None


def _beginnings(regex: Regex) -> list[tuple[CodePoints, Regex]]:
    """Return the ways to begin: the first character's set, and what follows it."""
    match regex:
        case Character(points):
            return [(points, RegexSequence())]
        case RegexChoice(options):
            return [way for option in options for way in _beginnings(option)]
        case RegexSequence(parts):
            found: list[tuple[CodePoints, Regex]] = []
            for at, part in enumerate(parts):
                behind = parts[at + 1 :]
                found += [
                    (each, RegexSequence((rest, *behind))) for each, rest in _beginnings(part)
                ]
                if shortest(part):
                    break
            return found
        case RegexRepeat(item, least, most):
            again = RegexRepeat(item, max(least - 1, 0), None if most is None else most - 1)
            ways = [] if most == 0 else _beginnings(item)
            return [(each, RegexSequence((rest, again))) for each, rest in ways]
        case Anchor():
            return []
