"""What a schema says of the text of its strings: patterns, formats, bounds of its length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from autoparser.analysis.core.schema import Schema, count, place_of, schemas_of

from .anchoring import ANY_TEXT, anchored
from .regex_nodes import (
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    counted,
    flat,
    intersected,
    longest,
    shortest,
)
from .regex_parser import PatternError, parse_pattern
from .string_formats import PATTERNS, UNHELD
from .unwritable import unwritable


@dataclass(frozen=True, slots=True)
class StringShape:
    """Patterns that a text has to match as a whole, each of them, and its length in characters."""

    patterns: tuple[Regex, ...] = ()
    """Without anchors."""
    least: int = 0
    most: int | None = None
    pointer: str = "#"
    """Of the schema."""
    keywords: tuple[str, ...] = ()
    """What says so, the keywords of the patterns first."""

    @property
    def regexes(self) -> tuple[Regex, ...]:
        """All of it as expressions, each of which has to match the whole text."""
        if not self.least and self.most is None:
            return self.patterns
        return (*self.patterns, RegexRepeat(ANY_TEXT.item, self.least, self.most))

    def single(self) -> Regex | None:
        """Return all of it as one expression; None where no text meets it.

        Raises UnheldKeywordError where several expressions would have to match at once.
        """
        if self.most is not None and self.most < self.least:
            return None
        if not self.patterns:
            return RegexRepeat(ANY_TEXT.item, self.least, self.most)
        regex, *others = self.patterns
        for other in others:
            both = intersected(regex, other)
            if both is None:
                why = f"one text would have to match {' and '.join(self.keywords[:2])} at once"
                raise unwritable(self.keywords[1], self.pointer, why)
            if not both.options:
                return None
            regex = both
        options = regex.options if isinstance(regex, RegexChoice) else (regex,)
        bounded = [self._bounded(option) for option in options]
        kept = [option for option in bounded if option is not None]
        if not kept:
            return None
        return kept[0] if len(kept) == 1 else RegexChoice(tuple(kept))

    def _bounded(self, regex: Regex) -> Regex | None:
        """Hold a text's length within bounds: where nothing is to do, or one repetition decides."""
        least, most = self.least, self.most
        low, high = shortest(regex), longest(regex)
        if (most is not None and low > most) or (high is not None and high < least):
            return None
        if low >= least and (most is None or (high is not None and high <= most)):
            return regex
        parts = flat(regex)
        open_ones = [at for at, part in enumerate(parts) if shortest(part) != longest(part)]
        part = parts[open_ones[0]] if len(open_ones) == 1 else None
        if not isinstance(part, RegexRepeat) or (shortest(part.item), longest(part.item)) != (1, 1):
            bound = "minLength" if least > low else "maxLength"
            why = f"the {self.keywords[0]} leaves the length open"
            raise unwritable(bound, self.pointer, why)
        others = low - part.least
        fewest = max(part.least, least - others)
        upper = [part.most] if part.most is not None else []
        upper += [most - others] if most is not None else []
        if upper and min(upper) < fewest:
            return None
        parts[open_ones[0]] = RegexRepeat(part.item, fewest, min(upper) if upper else None)
        return RegexSequence(tuple(parts))


def ensure_counted(shape: StringShape, most: int, fewest: int) -> None:
    """Raise UnheldKeywordError for a length that an engine cannot count to its end.

    It counts to `most` at most, and takes no text that has to be longer than `fewest`.
    """
    if shape.least > fewest:
        keyword, size = "minLength", fewest
    elif (shape.most or 0) > most:
        keyword, size = "maxLength", most
    elif any(counted(regex) > most for regex in shape.patterns):
        # Where lengths have become part of the pattern they are looked at first.
        is_joined = not shape.least and shape.most is None
        lengths = [each for each in _LENGTHS if each in shape.keywords and is_joined]
        keyword, size = (*lengths, *shape.keywords)[0], most
    else:
        return
    raise unwritable(
        keyword,
        shape.pointer,
        f"llguidance may give up within a text of which it counts more than {size} characters",
    )


def is_filled(shape: StringShape) -> bool:
    """Whether all that a shape says is that a text is not empty."""
    return not shape.patterns and (shape.least, shape.most) == (1, None)


def string_shape(schema: Schema, pointer: str) -> StringShape:
    """Read the keywords for strings of a schema, and of what holds beside it in its ``allOf``.

    Raises UnheldKeywordError for a pattern that is none or not regular, and for a format that is
    not regular.
    """
    pointer = place_of(schema, pointer)
    found = [
        (keyword, _regex(keyword, str(schema[keyword]), source, pointer))
        for keyword, source in _sources(schema, pointer)
    ]
    least, most = count(schema, "minLength") or 0, count(schema, "maxLength")
    said = (*(keyword for keyword, _ in found), *(each for each in _LENGTHS if each in schema))
    shape = StringShape(tuple(regex for _, regex in found), least, most, pointer, said)
    for part in schemas_of(schema, "allOf"):
        if isinstance(part, dict):
            shape = _joined(shape, string_shape(part, pointer))
    return shape


_LENGTHS = ("minLength", "maxLength")


def _sources(schema: Schema, pointer: str) -> list[tuple[str, str]]:
    """Return the patterns of a schema, each with its keyword."""
    found: list[tuple[str, str]] = []
    if "pattern" in schema:
        found.append(("pattern", str(schema["pattern"])))
    name = str(schema.get("format"))
    if name in UNHELD:
        raise unwritable("format", pointer, f"{name!r}: {UNHELD[name]}")
    if name in PATTERNS:
        found.append(("format", PATTERNS[name]))
    return found


def _regex(keyword: str, told: str, source: str, pointer: str) -> Regex:
    try:
        return whole_pattern(source)
    except PatternError as error:
        raise unwritable(keyword, pointer, f"{told!r}: {error}") from None


@lru_cache(maxsize=256)
def whole_pattern(source: str) -> Regex:
    """Return the pattern of whole texts; schemas ask for the same ones again and again."""
    return anchored(parse_pattern(source))


def _joined(first: StringShape, second: StringShape) -> StringShape:
    upper = [most for most in (first.most, second.most) if most is not None]
    return replace(
        first,
        patterns=tuple(dict.fromkeys((*first.patterns, *second.patterns))),
        least=max(first.least, second.least),
        most=min(upper, default=None),
        keywords=(*first.keywords, *second.keywords),
    )
