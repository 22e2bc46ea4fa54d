"""A regular expression as a tree, and what can be told from the tree alone."""

from __future__ import annotations

from dataclasses import dataclass
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
