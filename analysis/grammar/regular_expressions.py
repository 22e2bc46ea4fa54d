r"""Read patterns of ECMA-262 that describe regular languages.

    pattern -> parse_pattern -> Regex -> anchor_regex -> the Regex of whole texts

Case counts, ``.`` is any character but a line's end, ``\d`` and ``\w`` are ASCII, ``\s`` is
ECMA-262's white space. Lazy quantifiers match the same texts as greedy ones. Lookaround,
backreferences and Unicode properties are refused.

Why not a library: ``greenery`` 4.2.3 takes ``^`` and ``$`` for the characters and does not read
``\u0041``, named groups or ``[\d-]``; ``interegular`` 0.3.3 refuses anchors and ``\u0041``; to both
``\s`` is ASCII alone. What they are made for, automata, is of no use for rules.

A pattern without anchors matches anywhere in a text:

    >>> from autoparser.analysis.grammar.regex_nodes import rust_regex
    >>> [rust_regex(anchor_regex(parse_pattern(text))) for text in (r"^\d{3}$", "^a|b$")]
    ['(?:[0-9]){3,3}', '(?:a(?:(?s:.))*|(?:(?s:.))*b)']
"""

from __future__ import annotations

import re
from functools import lru_cache

from .code_points import ANY, CodePoints
from .regex_nodes import (
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    SetCharacter,
    TextAnchor,
    choice_of_regexes,
)


class PatternError(Exception):
    """A pattern that is malformed or not regular; the message names the part."""


@lru_cache(maxsize=256)
def parse_pattern(source: str) -> Regex:
    """Read a pattern. Raises PatternError."""
    reader = _RegexReader(source)
    regex = reader.choice()
    if reader.at < len(source):
        raise PatternError(f"it has a ) without a ( at character {reader.at + 1}")
    return regex


_DIGIT = CodePoints.of("09")
_WORD = CodePoints.of("az", "AZ", "09", "_")
_LINE_ENDS = CodePoints.among("\n\r\u2028\u2029")
_SPACE = (
    _LINE_ENDS
    | CodePoints.of("\u2000\u200a")
    | CodePoints.among("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff")
)
_CLASSES = {
    "d": _DIGIT,
    "D": _DIGIT.inverse(),
    "w": _WORD,
    "W": _WORD.inverse(),
    "s": _SPACE,
    "S": _SPACE.inverse(),
}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_HEXADECIMAL = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")
_PAIR = re.compile(r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}")
_COUNTERS = frozenset("*+?{")
_GROUP_NAME = re.compile(r"\?<[A-Za-z_$][\w$]*")


class _RegexReader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def choice(self) -> Regex:
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        return choice_of_regexes(options)

    def sequence(self) -> Regex:
        parts: list[Regex] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.read_quantifier(self.atom()))
        return parts[0] if len(parts) == 1 else RegexSequence(tuple(parts))

    def atom(self) -> Regex:
        character = self.source[self.at]
        self.at += 1
        match character:
            case "^" | "$":
                return TextAnchor(start=character == "^")
            case ".":
                return SetCharacter(_LINE_ENDS.inverse())
            case "(":
                return self.group()
            case "[":
                return SetCharacter(self.bracket())
            case "\\":
                return SetCharacter(self.escape(in_class=False))
            case "*" | "+" | "?":
                raise PatternError(f"it has nothing to repeat before {character}")
            case _:
                return SetCharacter(CodePoints.among(character))

    def group(self) -> Regex:
        if not self.take("?:") and self.source.startswith("?", self.at):
            # Only named groups are taken: `(?=` and the like look around.
            named = _GROUP_NAME.match(self.source, self.at)
            if named is None or not self.source.startswith(">", named.end()):
                what = self.source[self.at - 1 : self.at + 3]
                raise PatternError(f"{what} is not supported")
            self.at = named.end() + 1
        regex = self.choice()
        if not self.take(")"):
            raise PatternError("it has a ( without a )")
        return regex

    def read_quantifier(self, regex: Regex) -> Regex:
        counts = self.counts()
        if counts is None:
            return regex
        if isinstance(regex, TextAnchor):
            raise PatternError("an anchor cannot be repeated")
        least, most = counts
        if most is not None and most < least:
            raise PatternError(f"{{{least},{most}}} is out of order")
        # A lazy quantifier matches the same texts.
        self.take("?")
        if self.counts() is not None:
            # Elsewhere `a++` is possessive, and ECMA-262 refuses it.
            raise PatternError("it has two adjacent quantifiers")
        return RegexRepeat(regex, least, most)

    def counts(self) -> tuple[int, int | None] | None:
        if self.source[self.at : self.at + 1] not in _COUNTERS:
            return None
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return counts
        # Any other `{` is an ordinary character.
        found = _COUNTS.match(self.source, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found[1])
        if found[2] is None:
            return least, least
        return least, int(found[3]) if found[3] else None

    def bracket(self) -> CodePoints:
        negated = self.take("^")
        # In ECMA-262 `[]` matches nothing, in other languages the bracket is a member.
        if self.source.startswith("]", self.at):
            raise PatternError("engines disagree about an empty class")
        points = CodePoints()
        while not self.take("]"):
            first = self.class_atom()
            follows = self.source[self.at : self.at + 2]
            # The last `-` of a class stands for itself, as in `[a-]`.
            if follows[:1] == "-" and follows not in {"-", "-]"}:
                self.at += 1
                first = _range(first, self.class_atom())
            points |= first
        points = points.inverse() if negated else points
        if not points:
            raise PatternError("one of its classes matches no character")
        return points

    def class_atom(self) -> CodePoints:
        if self.at >= len(self.source):
            raise PatternError("it has a [ without a ]")
        character = self.source[self.at]
        self.at += 1
        return self.escape(in_class=True) if character == "\\" else CodePoints.among(character)

    def escape(self, *, in_class: bool) -> CodePoints:
        rest = self.source[self.at : self.at + 1]
        self.at += 1
        if not rest:
            raise PatternError("it ends with a backslash")
        if rest in _CLASSES:
            return _CLASSES[rest]
        # `\01` would be octal, which ECMA-262 refuses in Unicode mode.
        if rest in _CONTROLS and not self.source[self.at : self.at + 1].isdigit():
            return CodePoints.among(_CONTROLS[rest])
        # Outside of a class it is the edge of a word, which is refused below.
        if in_class and rest == "b":
            return CodePoints.among("\b")
        # `\cJ` is a line feed.
        if rest == "c" and re.match("[A-Za-z]", self.source[self.at : self.at + 1]):
            self.at += 1
            return CodePoints.among(chr(ord(self.source[self.at - 1]) % 32))
        if rest in "xu":
            return self.hexadecimal()
        # E.g. `\1`, a backreference, or `\p{L}`, a property.
        if rest.isalnum():
            raise PatternError(f"\\{rest} is not supported")
        return CodePoints.among(rest)

    def hexadecimal(self) -> CodePoints:
        start = self.at - 1
        # Two surrogates are one character, as in JSON.
        if pair := _PAIR.match(self.source, start):
            self.at = pair.end()
            high, low = int(pair[0][1:5], 16), int(pair[0][7:11], 16)
            point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            return CodePoints.of((point, point))
        found = _HEXADECIMAL.match(self.source, start)
        point = -1 if found is None else int(found[1] or found[2] or found[3], 16)
        points = CodePoints.of((point, point)) & ANY if point >= 0 else CodePoints()
        if found is None or not points:
            raise PatternError(f"\\{self.source[start : start + 5]} is not a valid escape")
        self.at = found.end()
        return points

    def take(self, sign: str) -> bool:
        if self.source.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False


def _range(first: CodePoints, last: CodePoints) -> CodePoints:
    start, end = first.single, last.single
    if start is None or end is None or start > end:
        raise PatternError("one of its classes has an invalid range")
    return CodePoints.of((ord(start), ord(end)))


# Anchors: resolved, open ends filled with any text.


ANY_TEXT = RegexRepeat(SetCharacter(ANY), 0, None)
EMPTY = RegexSequence()


def anchor_regex(regex: Regex) -> Regex:
    """Return the expression of whole texts in which `regex` is found, without anchors.

    Raises PatternError for an anchor elsewhere than at an edge of the pattern.
    """
    options: list[Regex] = []
    # In `^a|b$` each option has an anchor of its own, so both edges are split.
    for at_start, headed in _edge(regex, start=True):
        for at_end, body in _edge(headed, start=False):
            if _has_anchor(body):
                raise PatternError("it has an anchor inside")
            parts = [body]
            if not at_start:
                parts.insert(0, ANY_TEXT)
            if not at_end:
                parts.append(ANY_TEXT)
            options.append(RegexSequence(tuple(parts)) if len(parts) > 1 else body)
    return choice_of_regexes(options)


def _edge(regex: Regex, *, start: bool) -> list[tuple[bool, Regex]]:
    """Return the options of a pattern, each with whether it is anchored at this edge.

    The anchors of this edge are removed from the options.
    """
    match regex:
        case TextAnchor(start=which) if which is start:
            return [(True, EMPTY)]
        case RegexChoice(options) if _has_anchor(regex):
            return [found for option in options for found in _edge(option, start=start)]
        case RegexSequence(parts) if parts and _has_anchor(regex):
            return _sequence_edge(parts, start=start)
        case _:
            return [(False, regex)]


def _sequence_edge(parts: tuple[Regex, ...], *, start: bool) -> list[tuple[bool, Regex]]:
    outer, inner = (parts[0], parts[1:]) if start else (parts[-1], parts[:-1])
    found: list[tuple[bool, Regex]] = []
    for is_anchored, body in _edge(outer, start=start):
        # An anchor alone, e.g. from `(^|a)`: the next part is at the edge.
        if body == EMPTY:
            rest = _edge(RegexSequence(inner), start=start)
            found += [(is_anchored or deeper, left) for deeper, left in rest]
        else:
            joined = (body, *inner) if start else (*inner, body)
            found.append((is_anchored, RegexSequence(joined)))
    return found


@lru_cache(maxsize=512)
def _has_anchor(regex: Regex) -> bool:
    match regex:
        case TextAnchor():
            return True
        case RegexSequence(parts) | RegexChoice(parts):
            return any(map(_has_anchor, parts))
        case RegexRepeat(item):
            return _has_anchor(item)
        case SetCharacter():
            return False
