"""A regular expression as a GBNF expression."""

from __future__ import annotations

from dataclasses import dataclass

from .characters import Quoting
from .code_points import ANY, CodePoints
from .counted_repetition import repeated
from .digits import alternatives
from .gbnf_rules import GbnfRules, literal
from .regex_nodes import (
    Anchor,
    Character,
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    flat,
    shortest,
    without_empty,
)


def bare_text(regex: Regex, rules: GbnfRules) -> str:
    """Return the expression of texts that stand without quotes; `regex` holds no anchors."""
    return RegexWriter(rules, Quoting.BARE).write(regex)


@dataclass(frozen=True, slots=True)
class RegexWriter:
    """Writes expressions for texts inside a string."""

    rules: GbnfRules
    quoting: Quoting

    def write(self, regex: Regex) -> str:
        """Return an expression that may stand in a sequence; `regex` holds no anchors."""
        match regex:
            case Character(points):
                return self.character(points)
            case RegexSequence(parts):
                return self._sequence(parts)
            case RegexChoice(options):
                return alternatives([self.write(option) for option in options])
            case RegexRepeat(item, least, most):
                return self._repeat(item, least, most)
            case Anchor():
                raise ValueError("anchors must be resolved before")

    def character(self, points: CodePoints) -> str:
        """Return a literal, a class or the name of a rule for one character."""
        if points.single is not None:
            return literal(self.quoting.text(points.single))
        plain, escaped = self.quoting.options(points)
        if plain and not escaped:
            return plain[0]
        if len(escaped) > 1:
            escaped = (self.rules.add("escape", " | ".join(escaped)),)
        if points == ANY:
            return self.rules.add("char", " | ".join([*plain, *escaped]))
        return f"({' | '.join([*plain, *escaped])})"

    def _sequence(self, parts: tuple[Regex, ...]) -> str:
        pieces: list[str] = []
        text = ""
        for part in flat(RegexSequence(parts)):
            if isinstance(part, Character) and part.points.single is not None:
                text += part.points.single
                continue
            if text:
                pieces.append(literal(self.quoting.text(text)))
                text = ""
            pieces.append(self.write(part))
        if text or not pieces:
            pieces.append(literal(self.quoting.text(text)))
        return " ".join(pieces)

    def _repeat(self, item: Regex, least: int, most: int | None) -> str:
        if most == 0:
            return '""'
        if shortest(item) == 0:
            filled = without_empty(item)
            if filled is None:
                return '""'
            item, least = filled, 0
        if isinstance(item, RegexRepeat) and (item.least, item.most, least, most) == (
            1,
            None,
            0,
            None,
        ):
            item = item.item
        written = self.write(item)
        if (least, most) == (1, 1):
            return written
        if not isinstance(item, Character):
            simple = most is None or most == 1
            written = f"({written})" if simple else self.rules.add("part", written)
        return repeated(written, least, most, self.rules)
