r"""Write regular expressions as GBNF: counts that llama.cpp takes, repetitions quick in xgrammar.

>>> from autoparser.analysis.grammar.regular_expressions import parse_pattern
>>> rules = GbnfRules()
>>> writer = RegexWriter(rules, CharacterQuoting.JSON)
>>> writer.write(parse_pattern(r"[a-z]{2,4}-\d*")), *rules
('times "-" [0-9]*', ('times', '[a-z]{2,4}'))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from .code_points import ANY, CodePoints
from .gbnf_rules import GbnfRules, character_options, gbnf_literal, join_alternatives
from .grammar_rules import CharacterQuoting
from .regex_nodes import (
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    SetCharacter,
    TextAnchor,
    counted_places,
    flat_sequence,
    shortest_match,
    without_empty,
)

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
"""Maximum number of rows that are written where they are repeated; a character of JSON in
ASCII has 13."""
_WRITTEN_OUT = 3
"""Maximum count of an item of a row: xgrammar makes a rule of any other count."""
_FEW = 8
"""Maximum count of a part for which the rest of the text is written after each repetition."""
_PLACES = 256
"""Maximum number of places in a text for each of which its rest is written."""


NO_CLOSE = '""'
"""The close of a text that ends with its expression, such as a quoted one."""


class RegexWriter(Struct, frozen=True):
    """Writes expressions for texts inside a string."""

    rules: GbnfRules
    """The table that gets rules for counted and for long parts, e.g. a `SchemaTable`."""
    quoting: CharacterQuoting
    """How characters are written, e.g. `CharacterQuoting.JSON`, or bare in a tag."""

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
        ways = self.ways(points)
        if points == ANY and len(ways) > 1:
            return self.rules.add("char", " | ".join(ways))
        return join_alternatives(ways)

    def ways(self, points: CodePoints) -> list[str]:
        """Return the ways to write one character, each a row of literals and classes if few."""
        if points.single is not None:
            return [gbnf_literal(self.quoting.text(points.single))]
        plain, escaped = character_options(self.quoting, points)
        if len(escaped) > _INLINE:
            escaped = (self.rules.add("escape", " | ".join(escaped)),)
        return [*plain, *escaped]

    def quoted(self, regex: Regex) -> str:
        """Return an expression for texts and the quotes around them."""
        quote = gbnf_literal(self.quoting.quote)
        return f"{quote} {self.closed(regex, quote)}"

    def closed(self, regex: Regex, close: str) -> str:
        """Return an expression for texts and the expression of their close, e.g. `NO_CLOSE`.

        If a rule may call itself, the rule of a part contains the rest of the text: xgrammar checks
        a token again for each mask if a rule may end within it.
        """
        if not self.rules.calls_itself or counted_places(regex) > _PLACES:
            return _row(self.write(regex), close)
        return _ClosedText(self, close).onward((regex,))

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
                return self.ways(points)
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

    def _rows_of_escapes(self, regex: Regex) -> list[str] | None:
        """Return a class and a rule of all escapes beside it, too many for rows, or None."""
        if not isinstance(regex, RegexChoice):
            return None
        plain = [option for option in regex.options if isinstance(option, SetCharacter)]
        ways = [way for option in plain for way in self.ways(option.points)]
        escapes = [option for option in regex.options if option not in plain]
        if len(ways) != 1 or not escapes:
            return None
        return [*ways, self.rules.add("escape", " | ".join(map(self.write, escapes)))]

    def _repeat(self, item: Regex, least: int, most: int | None) -> str:
        """Write a repetition; an item that may be empty is replaced by one that may not."""
        if most == 0:
            return '""'
        if shortest_match(item) == 0:
            filled = without_empty(item)
            # Only the empty text matches.
            if filled is None:
                return '""'
            item, least = filled, 0
        # `(a+)*` is `a*`.
        if isinstance(item, RegexRepeat) and item == RegexRepeat(item.item, 1, None):
            item = item.item if (least, most) == (0, None) else item
        rows = None
        if most is None:
            rows = self._rows(item) or self._rows_of_escapes(item)
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


class _ClosedText:
    """Writes one rule for each part of a text and its rest, up to the close."""

    def __init__(self, writer: RegexWriter, close: str) -> None:
        self.writer, self.close = writer, close
        self.rows_by_parts: dict[tuple[Regex, ...], list[str]] = {(): [close]}
        """The ways to write parts and the close."""

    def onward(self, parts: tuple[Regex, ...]) -> str:
        """Return an expression for parts and the close."""
        rows = self._rows(parts)
        return rows[0] if len(rows) == 1 else self.writer.rules.add("rest", " | ".join(rows))

    def _rows(self, *ways: tuple[Regex, ...]) -> list[str]:
        for parts in ways:
            if parts not in self.rows_by_parts:
                self.rows_by_parts[parts] = self._rows_of(parts[0], parts[1:])
        return [*dict.fromkeys(row for parts in ways for row in self.rows_by_parts[parts])]

    def _rows_of(self, first: Regex, rest: tuple[Regex, ...]) -> list[str]:
        match first:
            case SetCharacter(points):
                behind = self.onward(rest)
                return [_row(way, behind) for way in self.writer.ways(points)]
            case RegexSequence(parts):
                return self._rows((*parts, *rest))
            case RegexChoice(options):
                return self._rows(*((option, *rest) for option in options))
            # Written out, a large count would have the rest of the text at each of its places.
            case RegexRepeat(_, least, most) if max(least, most or 0) > _FEW:
                return [_row(self.writer.write(first), self.onward(rest))]
            case RegexRepeat():
                return self._repeated(first, rest)
            case TextAnchor():
                raise ValueError("anchors must be resolved before")

    def _repeated(self, first: RegexRepeat, rest: tuple[Regex, ...]) -> list[str]:
        least, most = first.least, first.most
        may_be_empty = shortest_match(first.item) == 0
        filled = without_empty(first.item) if may_be_empty else first.item
        if filled is None or most == 0:
            return self._rows(rest)
        fewer = replace(first, least=max(least - 1, 0), most=most and most - 1)
        # The rest at once, or the item and then one time less of it.
        ways = [rest] if not least or may_be_empty else []
        ways.append((filled, fewer, *rest))
        if least or most is not None:
            return self._rows(*ways)

        def loop(name: str) -> str:
            # Known before its rows, which begin with the same parts again.
            self.rows_by_parts[first, *rest] = [name]
            return " | ".join(self._rows(*ways))

        key = (self.writer.quoting, first, rest, self.close)
        return [self.writer.rules.recursive(key, "rest", loop)]


def _row(text: str, behind: str) -> str:
    return text if behind == NO_CLOSE else f"{text} {behind}"


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
