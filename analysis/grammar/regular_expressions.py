r"""Read patterns of ECMA-262 that describe regular languages, and write them as GBNF.

    pattern -> parse_pattern -> Regex -> anchor_regex -> RegexWriter -> GBNF expression

Case counts, ``.`` is any character but a line's end, ``\d`` and ``\w`` are ASCII, ``\s`` is
ECMA-262's white space. Lazy quantifiers match the same texts as greedy ones. Lookaround,
backreferences and Unicode properties are refused.

Why not a library: ``greenery`` 4.2.3 takes ``^`` and ``$`` for the characters and does not read
``\u0041``, named groups or ``[\d-]``; ``interegular`` 0.3.3 refuses anchors and ``\u0041``; to both
``\s`` is ASCII alone. What they are made for, automata, is of no use for rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod

from .gbnf_rules import CharacterQuoting, GbnfRules, gbnf_literal, join_alternatives
from .regex_nodes import (
    ANY,
    CodePoints,
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    SetCharacter,
    TextAnchor,
    choice_of_regexes,
    flat_sequence,
    shortest_match,
    without_empty,
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
            parts.append(self.quantified(self.atom()))
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
                raise PatternError(f"nothing stands before {character}")
            case _:
                return SetCharacter(CodePoints.among(character))

    def group(self) -> Regex:
        if not self.take("?:") and self.source.startswith("?", self.at):
            named = _GROUP_NAME.match(self.source, self.at)
            if named is None or not self.source.startswith(">", named.end()):
                what = self.source[self.at - 1 : self.at + 3]
                raise PatternError(f"{what} is more than a regular expression can say")
            self.at = named.end() + 1
        regex = self.choice()
        if not self.take(")"):
            raise PatternError("it has a ( without a )")
        return regex

    def quantified(self, regex: Regex) -> Regex:
        counts = self.counts()
        if counts is None:
            return regex
        if isinstance(regex, TextAnchor):
            raise PatternError("an anchor cannot be repeated")
        least, most = counts
        if most is not None and most < least:
            raise PatternError(f"{{{least},{most}}} is out of order")
        self.take("?")
        if self.counts() is not None:
            raise PatternError("two quantifiers stand side by side")
        return RegexRepeat(regex, least, most)

    def counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return counts
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
        if self.source.startswith("]", self.at):
            raise PatternError("an empty class means different things to different engines")
        points = CodePoints()
        while not self.take("]"):
            first = self.class_atom()
            follows = self.source[self.at : self.at + 2]
            if follows[:1] == "-" and follows not in {"-", "-]"}:
                self.at += 1
                first = _range(first, self.class_atom())
            points |= first
        points = points.inverse() if negated else points
        if not points:
            raise PatternError("one of its classes holds no character")
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
        if rest in _CONTROLS and not self.source[self.at : self.at + 1].isdigit():
            return CodePoints.among(_CONTROLS[rest])
        if in_class and rest == "b":
            return CodePoints.among("\b")
        if rest == "c" and re.match("[A-Za-z]", self.source[self.at : self.at + 1]):
            self.at += 1
            return CodePoints.among(chr(ord(self.source[self.at - 1]) % 32))
        if rest in "xu":
            return self.hexadecimal()
        if rest.isalnum():
            raise PatternError(f"\\{rest} is more than a regular expression can say")
        return CodePoints.among(rest)

    def hexadecimal(self) -> CodePoints:
        start = self.at - 1
        if pair := _PAIR.match(self.source, start):
            self.at = pair.end()
            high, low = int(pair[0][1:5], 16), int(pair[0][7:11], 16)
            point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            return CodePoints.of((point, point))
        found = _HEXADECIMAL.match(self.source, start)
        point = -1 if found is None else int(found[1] or found[2] or found[3], 16)
        points = CodePoints.of((point, point)) & ANY if point >= 0 else CodePoints()
        if found is None or not points:
            raise PatternError(f"\\{self.source[start : start + 5]} names no character")
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
        raise PatternError("one of its classes has a range that is none")
    return CodePoints.of((ord(start), ord(end)))


# Anchors: resolved, open ends filled with any text.


ANY_TEXT = RegexRepeat(SetCharacter(ANY), 0, None)
EMPTY = RegexSequence()


def anchor_regex(regex: Regex) -> Regex:
    """Return the expression of whole texts in which `regex` is found, without anchors.

    Raises PatternError for an anchor elsewhere than at an edge of the pattern.
    """
    options: list[Regex] = []
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
        if body == EMPTY:
            rest = _edge(RegexSequence(inner), start=start)
            found += [(is_anchored or deeper, left) for deeper, left in rest]
        else:
            joined = (body, *inner) if start else (*inner, body)
            found.append((is_anchored, RegexSequence(joined)))
    return found


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


# Counted repetition of any size, by counts that llama.cpp takes.


LARGEST_COUNT = 1000
"""The largest count written; llama.cpp refuses more than 2000."""


def repeat_items(item: str, least: int, most: int | None, rules: GbnfRules) -> str:
    """Return an expression for `least` to `most` items; None means no upper bound.

    `item` is a rule's name or a class, and for bounds up to 1 also a literal or a group. Counts
    stand in rules of their own: the rules that a count makes are then in no group.
    """
    if most is None:
        if least <= 1:
            return f"{item}{'+' if least else '*'}"
        return f"{repeat_items(item, least, least, rules)} {item}*"
    if most == 0:
        return '""'
    if (least, most) in _SHORT:
        return f"{item}{_SHORT[least, most]}"
    if most <= LARGEST_COUNT:
        count = f"{most}" if least == most else f"{least},{most}"
        return rules.add("times", f"{item}{{{count}}}")
    if least:
        fixed = _exactly(item, least, rules)
        return fixed if least == most else f"{fixed} {repeat_items(item, 0, most - least, rules)}"
    # Up to q·1000 + r items: fewer than q whole thousands and up to 999, or q and up to r.
    thousands, rest = divmod(most, LARGEST_COUNT)
    chunk = rules.add("thousand", f"{item}{{{LARGEST_COUNT}}}")
    few = repeat_items(item, 0, LARGEST_COUNT - 1, rules)
    fewer = repeat_items(chunk, 0, thousands - 1, rules)
    all_of_them = repeat_items(chunk, thousands, thousands, rules)
    longest = all_of_them if rest == 0 else f"{all_of_them} {repeat_items(item, 0, rest, rules)}"
    return f"({fewer} {few} | {longest})"


_SHORT = {(0, 1): "?", (1, 1): ""}


def _exactly(item: str, count: int, rules: GbnfRules) -> str:
    thousands, rest = divmod(count, LARGEST_COUNT)
    pieces: list[str] = []
    if thousands:
        chunk = rules.add("thousand", f"{item}{{{LARGEST_COUNT}}}")
        pieces.append(repeat_items(chunk, thousands, thousands, rules))
    if rest:
        pieces.append(repeat_items(item, rest, rest, rules))
    return " ".join(pieces)


# A regular expression as a GBNF expression.


_INLINE = 16
"""Maximum number of rows that are written where they are repeated; those of a character of JSON in
ASCII are 13."""
_WRITTEN_OUT = 3
"""Maximum count of an item of a row: xgrammar makes a rule of any other count."""


@dataclass(frozen=True, slots=True)
class RegexWriter:
    """Writes expressions for texts inside a string."""

    rules: GbnfRules
    quoting: CharacterQuoting

    def write(self, regex: Regex) -> str:
        """Return an expression that may stand in a sequence; `regex` holds no anchors."""
        match regex:
            case SetCharacter(points):
                return self.character(points)
            case RegexSequence(parts):
                return self._sequence(parts)
            case RegexChoice(options):
                return join_alternatives([self.write(option) for option in options])
            case RegexRepeat(item, least, most):
                return self._repeat(item, least, most)
            case TextAnchor():
                raise ValueError("anchors must be resolved before")

    def character(self, points: CodePoints) -> str:
        """Return a literal, a class, a group or the name of a rule for one character."""
        ways = self._ways(points)
        if points == ANY and len(ways) > 1:
            return self.rules.add("char", " | ".join(ways))
        return join_alternatives(ways)

    def _ways(self, points: CodePoints) -> list[str]:
        """Return the ways to write one character, each a row of literals and classes if few."""
        if points.single is not None:
            return [gbnf_literal(self.quoting.text(points.single))]
        plain, escaped = self.quoting.options(points)
        if len(escaped) > _INLINE:
            escaped = (self.rules.add("escape", " | ".join(escaped)),)
        return [*plain, *escaped]

    def quoted(self, regex: Regex) -> str:
        """Return an expression for texts and the quotes around them.

        Where a rule may call itself, the text at the end is one: in xgrammar a mask then takes a
        third of what it takes with a repetition.
        """
        quote = gbnf_literal(self.quoting.quote)
        parts = flat_sequence(regex)
        last = parts[-1] if parts else None
        if (
            not self.rules.calls_itself
            or not isinstance(last, RegexRepeat)
            or not isinstance(last.item, SetCharacter)
            or last.most is not None
        ):
            return f"{quote} {self.write(regex)} {quote}"
        ways = self._ways(last.item.points)
        rest = self.rules.recursive(
            ("rest", *ways),
            "rest",
            lambda name: " | ".join([quote, *(f"{way} {name}" for way in ways)]),
        )
        before = [*parts[:-1], *[replace(last, most=last.least - 1)] * (last.least > 1)]
        if last.least:
            # One character and the rest are a rule again, which compiles in a third of the time.
            rest = self.rules.add("filled", " | ".join(f"{way} {rest}" for way in ways))
        return " ".join([quote, *[self.write(RegexSequence(tuple(before)))] * bool(before), rest])

    def _sequence(self, parts: tuple[Regex, ...]) -> str:
        pieces: list[str] = []
        text = ""
        for part in flat_sequence(RegexSequence(parts)):
            if isinstance(part, SetCharacter) and part.points.single is not None:
                text += part.points.single
                continue
            if text:
                pieces.append(gbnf_literal(self.quoting.text(text)))
                text = ""
            pieces.append(self.write(part))
        if text or not pieces:
            pieces.append(gbnf_literal(self.quoting.text(text)))
        return " ".join(pieces)

    def _rows(self, regex: Regex) -> list[str] | None:
        """Return the ways to write a text as rows of literals and classes, or None if not few.

        A repetition of such rows takes xgrammar microseconds a mask, one of rules and groups
        up to 100 ms.
        """
        match regex:
            case SetCharacter(points):
                return self._ways(points)
            case RegexSequence():
                found = [self._rows(part) for part in flat_sequence(regex)]
            case RegexRepeat(item, least, most) if least == most and least <= _WRITTEN_OUT:
                found = [self._rows(item)] * least
            case RegexChoice(options):
                found = [self._rows(option) for option in options]
                rows = [row for option in found for row in option or ()]
                return rows if all(found) and len(rows) <= _INLINE else None
            case _:
                return None
        known = [rows for rows in found if rows]
        if len(known) < len(found) or not known or prod(map(len, known)) > _INLINE:
            return None
        return [" ".join(row) for row in product(*known)]

    def _repeat(self, item: Regex, least: int, most: int | None) -> str:
        if most == 0:
            return '""'
        if shortest_match(item) == 0:
            filled = without_empty(item)
            if filled is None:
                return '""'
            item, least = filled, 0
        if isinstance(item, RegexRepeat) and item == RegexRepeat(item.item, 1, None):
            item = item.item if (least, most) == (0, None) else item
        rows = self._rows(item) if most is None else None
        if rows is not None:
            one = join_alternatives(rows) if len(rows) > 1 else rows[0]
            before = {0: "", 1: f"{one} "}.get(least)
            return f"{self._repeat(item, least, least)} " * (before is None) + (
                (before or "") + _any_number(rows)
            )
        written = self.write(item)
        if (least, most) == (1, 1):
            return written
        if not isinstance(item, SetCharacter):
            simple = most is None or most == 1
            written = f"({written})" if simple else self.rules.add("part", written)
        return repeat_items(written, least, most, self.rules)


def _any_number(rows: Sequence[str]) -> str:
    """Return an expression for any number of rows.

    Of a class and another row it is ``[class]* (row [class]*)*``, in which a mask of xgrammar takes
    a tenth of the time.
    """
    classes = [row for row in rows if _CLASS.fullmatch(row)]
    others = [row for row in rows if row not in classes]
    if len(rows) == 1:
        return f"{rows[0]}*" if classes else f"({rows[0]})*"
    if len(classes) == len(others) == 1:
        return f"{classes[0]}* ({others[0]} {classes[0]}*)*"
    return f"({' | '.join(dict.fromkeys(rows))})*"


_CLASS = re.compile(r"\[(?:[^\\\]]|\\.)+\]")
