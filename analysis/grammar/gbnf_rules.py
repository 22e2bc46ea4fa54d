r"""Keep a table of GBNF rules, and write literals, classes, digits and JSON's tokens in it.

The text stays inside what llama.cpp's parser and llguidance's converter read alike:

- rule names of small letters, digits and dashes (llama.cpp has no underscore, llguidance
  renames ``root`` to ``start`` and dashes to underscores);
- one rule a line;
- the escapes ``\n \r \t \\ \" \[ \] \xHH`` alone: llguidance's converter drops leading zeros
  of ``\uHHHH``, so all else above 0x9F stands as itself;
- in classes every sign that Rust's regular expressions could take for an operator as ``\xHH``;
- a hexadecimal digit after ``\xHH`` as ``\xHH``, too: xgrammar reads as many digits as there are;
- counted repetition up to 1000 times, since llama.cpp refuses more than 2000 times the number of
  rules that the repeated group needs; so groups are kept small, and what is counted is a rule's
  name or a class (see `repetition`).

An integer from 8 to 12, and the comma between members, which a `seam` keeps a rule of its own, are
written as

    n ::= ([89] | "1" [0-2])
    seam ::= "" | never seam
    comma ::= ", " seam
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from itertools import product
from string import hexdigits
from typing import Literal, Self

from msgspec import Struct

from autoparser.analysis.core.error_words import escape_text

from .code_points import LAST, CodePoints
from .grammar_rules import DEEPEST_LINE, CharacterQuoting, JsonStyle


class RuleStep(Struct, frozen=True):
    """One change of a table of rules, which can be made in another table as well."""

    made_by: Literal["add", "reserve", "define", "settle", "recursive"]
    """The method of `GbnfRules`, e.g. "add"."""
    name: str
    """The name of the rule, e.g. "get-weather-city-value"."""
    body: str = ""
    r"""Its body, e.g. `("celsius\n</parameter>" | "fahrenheit\n</parameter>")`, or the expression
    that it is settled by."""
    wish: str = ""
    """The preferred name, e.g. "content"; if it is taken, the rule is "content-2"."""
    key: Hashable = None
    """The key of a recursive rule, e.g. "seam"."""
    inner: tuple[RuleStep, ...] = ()
    """The steps that make the body of a recursive rule, e.g. (RuleStep("add", "string", …),)."""

    def body_with(self, names: Mapping[str, str]) -> str:
        """Return the body with names of another table."""
        if not names or not self.body:
            return self.body
        return _OPERANDS.sub(lambda found: names.get(found[0], found[0]), self.body)


_OPERANDS = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z][a-z0-9-]*')
"""Literals, classes and names of rules."""


RESERVED = frozenset({"root", "start"})
"""Names that the whole grammar uses, not its parts."""

_NEVER = f"[\\x00] [^\\x00-{chr(LAST)}]"
"""A null character, and one that does not exist."""


class GbnfRules:
    """Rules by name, in the order in which they were asked for; equal bodies share one rule."""

    names_alone = False
    """Whether an object that names members, and says nothing of others, has those alone."""
    calls_itself = False
    """Whether text up to a quote is a rule that calls itself, which llguidance cannot read."""
    longest_count: int | None = None
    """The largest length of a JSON string that is counted, e.g. 2, or None if any is."""

    def __init__(self) -> None:
        self._bodies: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        self._wished: dict[str, int] = {}
        self._recursive: dict[Hashable, str] = {}
        self.section = ""
        """The part that the rules requested next belong to, in words."""
        self._sections: dict[str, str] = {}
        self.steps: list[RuleStep] | None = None
        """The changes so far, if they are recorded."""

    def recorder(self) -> Self:
        """Return an empty table of the same kind that records its changes."""
        other = copy(self)
        GbnfRules.__init__(other)
        other.steps = []
        return other

    def _note(self, step: RuleStep) -> str:
        if self.steps is not None:
            self.steps.append(step)
        return step.name

    def replay(self, steps: Sequence[RuleStep], names: dict[str, str]) -> None:
        """Make recorded changes in this table.

        `names` maps the names of rules in the recorded table to those here, where they differ.
        """
        for step in steps:
            match step.made_by:
                case "add":
                    name = self.add(step.wish, step.body_with(names))
                case "reserve":
                    name = self.reserve(step.wish)
                case "define":
                    name = self.define(names.get(step.name, step.name), step.body_with(names))
                case "settle":
                    name = self.settle(names.get(step.name, step.name), step.body_with(names))
                case _:
                    name = self._replay_recursive(step, names)
            _rename(names, step.name, name)

    def _replay_recursive(self, step: RuleStep, names: dict[str, str]) -> str:
        """Make a recursive rule; if it is known, look up the rules within it alone."""

        def body(name: str) -> str:
            _rename(names, step.name, name)
            self.replay(step.inner, names)
            return step.body_with(names)

        known = self._recursive.get(step.key)
        if known is not None:
            body(known)
        return self.recursive(step.key, step.wish, body)

    def add(self, wish: str, body: str) -> str:
        """Return the name of a rule with this body, a new one named like `wish` if need be."""
        name = self._names.get(body)
        if name is None:
            name = self._define(self._reserve(wish), body)
        return name if self.steps is None else self._note(RuleStep("add", name, body, wish))

    def reserve(self, wish: str) -> str:
        """Allocate a name for a rule that refers to itself; `define` must follow."""
        return self._note(RuleStep("reserve", self._reserve(wish), wish=wish))

    def _reserve(self, wish: str) -> str:
        base = _base_of(wish)
        name = base
        count = self._wished.get(base, 1)
        while name in self._bodies:
            count += 1
            name = f"{base}-{count}"
        self._wished[base] = count
        self._bodies[name] = None
        self._sections[name] = self.section
        return name

    def define(self, name: str, body: str) -> str:
        """Define a reserved rule, and return its name."""
        return self._note(RuleStep("define", self._define(name, body), body))

    def _define(self, name: str, body: str) -> str:
        self._bodies[name] = body
        self._names[body] = name
        return name

    def settle(self, name: str, expression: str) -> str:
        """Define a reserved rule by an expression, and return its name.

        If the expression is the name of a rule that nothing can have referred to yet, that rule
        gives way.
        """
        body = self._bodies.pop(expression, None)
        self._define(name, expression if body is None else body)
        return self._note(RuleStep("settle", name, expression))

    def recursive(self, key: Hashable, wish: str, body: Callable[[str], str]) -> str:
        """Return the name of a rule that refers to itself, the same one for an equal key.

        `body` makes its body from its name; it may ask for the same rule again.
        """
        known = self._recursive.get(key)
        outer = self.steps
        if known is not None:
            return known if outer is None else self._note(RuleStep("recursive", known, key=key))
        # Named before it is written, since its body refers to it.
        self._recursive[key] = name = self._reserve(wish)
        if outer is None:
            return self._define(name, body(name))
        self.steps = inner = list[RuleStep]()
        written = self._bodies[self._define(name, body(name))] or ""
        self.steps = outer
        return self._note(RuleStep("recursive", name, written, wish, key, tuple(inner)))

    @property
    def never(self) -> str:
        """The name of a rule that matches no text.

        A class of no characters is not enough: llama.cpp reads the bytes from 0xF8 on, which no
        UTF-8 has, as characters beyond Unicode's last one, and these are in it. It lets no null
        character pass; llguidance and xgrammar see that nothing can follow one.
        """
        return self.add("never", _NEVER)

    @property
    def seam(self) -> str:
        """The name of a rule that matches the empty text alone, and yet recurses.

        llguidance joins rules without recursion to one regular expression, which its lexer
        matches whole; a seam keeps what it stands in a rule.
        """
        return self.recursive("seam", "seam", lambda name: f'"" | {self.never} {name}')

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Return the names and bodies of all rules."""
        for name, body in self._bodies.items():
            if body is None:
                raise ValueError(f"the rule {name} was reserved and never defined")
            yield name, body

    def text(self, root: str) -> str:
        """Write the grammar: the rule `root` with this body, then all others by their sections."""
        sections: dict[str, list[str]] = {}
        for name, body in self:
            sections.setdefault(self._sections[name], []).append(f"{name} ::= {body}\n")
        written = [f"root ::= {root}\n"]
        for section, rules in sections.items():
            # A tool's name is untrusted: a line end in it would begin a rule.
            written += [f"\n# {escape_text(section)}\n" if section else "", *rules]
        return "".join(written)


_LONGEST_NAME = 64


@lru_cache(maxsize=2048)
def _base_of(wish: str) -> str:
    """Return a name that GBNF reads, without a number."""
    base = re.sub(r"[^a-z0-9]+", "-", wish.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")
    return f"rule-{base}".rstrip("-") if not base or base[0].isdigit() or base in RESERVED else base


def _rename(names: dict[str, str], recorded: str, name: str) -> None:
    if name != recorded:
        names[recorded] = name
    else:
        names.pop(recorded, None)


def gbnf_literal(text: str) -> str:
    """Write a text as a GBNF literal."""
    if text.isprintable():
        # The text contains no control character, so no escape has digits.
        return f'"{text.translate(_PRINTABLE_ESCAPES)}"'
    return f'"{_apart([_LITERAL_ESCAPES.get(char) or _plain(char) for char in text])}"'


_ASCII = 0x7F


def character_class(points: CodePoints) -> str:
    """Write a set of characters as a GBNF class; the set must not be empty.

    Open-ended sets are written negated, as a person would, unless other characters than ASCII's are
    left out: xgrammar 0.2.7, which SGLang pins, cannot compile a class that leaves out U+1680.
    """
    if not points:
        raise ValueError("a class must hold a character")
    if points.ranges[-1][1] == LAST:
        inverse = points.inverse()
        if not inverse:
            return f"[\\x00-{chr(LAST)}]"
        if inverse.ranges[-1][1] <= _ASCII:
            return f"[^{_class_body(inverse)}]"
    single = points.single
    return f"[{_class_body(points)}]" if single is None else gbnf_literal(single)


def class_without(characters: Iterable[str]) -> str:
    """Write the class of all characters but these, in their order."""
    inside = _apart([_class_character(ord(char)) for char in characters])
    return f"[^{inside}]" if inside else f"[\\x00-{chr(LAST)}]"


def _class_body(points: CodePoints) -> str:
    pieces: list[str] = []
    for first, last in points.ranges:
        start, end = _class_character(first), _class_character(last)
        if first == last:
            pieces.append(start)
        elif last == first + 1:
            pieces += [start, end]
        else:
            pieces.append(f"{start}-{end}")
    return _apart(pieces)


def _apart(pieces: list[str]) -> str:
    r"""Join written characters; a hexadecimal digit behind `\xHH` becomes `\xHH`, too."""
    written: list[str] = []
    for piece in pieces:
        goes_on = bool(written) and _IN_DIGITS.search(written[-1]) and piece[0] in hexdigits
        written.append(f"\\x{ord(piece[0]):02X}{piece[1:]}" if goes_on else piece)
    return "".join(written)


_IN_DIGITS = re.compile(r"\\x[0-9A-F]{2}\Z")
_LITERAL_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
_PRINTABLE_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})
_CLASS_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "[": "\\[", "]": "\\]"}
_CLASS_OPERATORS = "^-&~"
"""Signs that one of the readers may take for something else inside a class."""


def _class_character(point: int) -> str:
    character = chr(point)
    if character in _CLASS_OPERATORS:
        return f"\\x{point:02X}"
    return _CLASS_ESCAPES.get(character) or _plain(character)


def _plain(character: str) -> str:
    is_control = unicodedata.category(character) == "Cc"
    return f"\\x{ord(character):02X}" if is_control else character


# Ranges of numbers as digit strings, in any alphabet of digits.


DECIMAL = "0123456789"
HEXADECIMAL = "0123456789abcdef"


def join_alternatives(options: Sequence[str]) -> str:
    """Join options to one expression that may stand anywhere; there must be one."""
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def digits_between(low: str, high: str) -> str:
    """Return an expression for all digit strings from `low` to `high`, which are equally long."""
    return join_alternatives(list(digit_rows(low, high)))


def digit_rows(low: str, high: str, digits: str = DECIMAL, before: str = "") -> Iterator[str]:
    """Yield rows of literals and classes for the digit strings from `low` to `high`.

    `before` is the text before the digits. From ``"17"`` to ``"30"`` the rows are ``"1" [7-9]``,
    ``"2" [0-9]`` and ``"30"``.
    """
    size = len(low)
    zeros, nines = digits[0] * size, digits[-1] * size
    if not low or (low, high) == (zeros, nines):
        yield _in_row(before, counted_digits(size, digits))
    elif low[0] == high[0]:
        yield from digit_rows(low[1:], high[1:], digits, before + low[0])
    else:
        first, last = digits.index(low[0]), digits.index(high[0])
        if low[1:] != zeros[1:]:
            yield from digit_rows(low[1:], nines[1:], digits, before + low[0])
            first += 1
        if high[1:] != nines[1:]:
            last -= 1
        if first <= last:
            free = digits[first : last + 1]
            if len(free) == 1:
                yield _in_row(before + free, counted_digits(size - 1, digits))
            else:
                yield _in_row(before, [digit_class(free), *counted_digits(size - 1, digits)])
        if high[1:] != nines[1:]:
            yield from digit_rows(zeros[1:], high[1:], digits, before + high[0])


def _in_row(text: str, classes: list[str]) -> str:
    return " ".join([gbnf_literal(text)] * bool(text) + classes)


_WRITTEN_OUT = 3
"""Maximum count of digits that are written out: xgrammar makes a rule of any other count, and its
masks are quick where a repeated choice names no rule."""


def counted_digits(count: int, digits: str = DECIMAL) -> list[str]:
    """Return an expression for so many digits, none where the count is 0."""
    digit = digit_class(digits)
    return [digit] * count if count <= _WRITTEN_OUT else [f"{digit}{{{count}}}"]


def digit_class(digits: str) -> str:
    """Return a class of adjacent digits."""
    if len(digits) == 1:
        return gbnf_literal(digits)
    numbers = "".join(digit for digit in digits if digit.isdigit())
    letters = "".join(digit for digit in digits if not digit.isdigit())
    return f"[{_range(numbers)}{_range(letters)}]"


def _range(digits: str) -> str:
    inner = digits[1:-1]
    return f"{digits[0]}-{digits[-1]}" if inner else digits


# How one character of a string is written: as JSON, as JSON in ASCII, as itself.
#
# `json.dumps` writes each character in exactly one way, and so does a grammar here: the short
# escape if JSON has one, ``\u`` with four lowercase hexadecimal digits for all others that cannot
# stand as themselves, two of them beyond U+FFFF.


@lru_cache(maxsize=1024)
def character_options(
    quoting: CharacterQuoting, points: CodePoints
) -> tuple[Sequence[str], Sequence[str]]:
    """Return expressions that together are these characters: as themselves, and escaped.

    None of them is a group or names a rule: a repetition of such a choice takes xgrammar
    microseconds a mask, and one that names a rule 100 ms.
    """
    plain = points
    if quoting is not CharacterQuoting.BARE:
        plain &= _PRINTABLE_ASCII if quoting is CharacterQuoting.JSON_ASCII else _PLAIN
    return (character_class(plain),) if plain else (), tuple(_escapes(points - plain))


def _escapes(points: CodePoints) -> Iterator[str]:
    if short := "".join(sign for char, sign in _SHORT.items() if points & CodePoints.of(char)):
        yield f"{gbnf_literal(chr(92))} {character_class(CodePoints.among(short))}"
    rest = points - CodePoints.among("".join(_SHORT))
    for first, last in (rest & _PLANE_0).ranges:
        yield from _hexadecimal(first, last)
    for first, last in (rest - _PLANE_0).ranges:
        yield from _pairs(first, last)


_PLAIN = CodePoints.of((0x20, LAST)) - CodePoints.among('"\\')
_PRINTABLE_ASCII = CodePoints.of((0x20, 0x7E)) - CodePoints.among('"\\')
_PLANE_0 = CodePoints.of((0, 0xFFFF))
_LOW_BITS = 0x3FF
"""The bits of a code point that the second half of a surrogate pair holds."""

_SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _hexadecimal(first: int, last: int) -> Iterator[str]:
    yield from digit_rows(f"{first:04x}", f"{last:04x}", HEXADECIMAL, "\\u")


def _pairs(first: int, last: int) -> Iterator[str]:
    """Return surrogate pairs for characters beyond U+FFFF: equal first halves, then the rest."""
    while first <= last:
        high = (first - 0x10000) >> 10
        if first & _LOW_BITS == 0 and last - first >= _LOW_BITS:
            highest = ((last + 1 - 0x10000) >> 10) - 1
            end = 0x10000 + ((highest + 1) << 10) - 1
        else:
            highest, end = high, min(last, first | _LOW_BITS)
        halves = (
            _hexadecimal(0xD800 + high, 0xD800 + highest),
            _hexadecimal(0xDC00 + (first & _LOW_BITS), 0xDC00 + (end & _LOW_BITS)),
        )
        yield from map(" ".join, product(*halves))
        first = end + 1


# The tokens of JSON as GBNF rules: brackets, separators, words, names of members.
#
# llguidance joins rules without recursion into one regular expression each, and its lexer takes the
# longest match. Two objects in a choice, one of them recursive, would then be one long token
# against a ``{``, and the wrong one would win. So every bracket and separator ends with a seam
# (`GbnfRules.seam`): a text with a bracket stays a rule, and the competing tokens are JSON's own,
# none of which is a prefix of another, except for numbers.


class JsonTokens(Struct, frozen=True):
    """The names of the rules, which are allocated when they are first asked for."""

    rules: GbnfRules
    """The table that the rules are added to, e.g. a `SchemaTable`."""
    style: JsonStyle
    """The spacing around the tokens, e.g. ", " and ": "."""

    @property
    def begin_object(self) -> str:
        """Opens an object."""
        return self._bracket("begin-object", "{", after=self._line)

    @property
    def end_object(self) -> str:
        """Closes an object."""
        return self._bracket("end-object", "}", before=self._line)

    @property
    def begin_array(self) -> str:
        """Opens an array."""
        return self._bracket("begin-array", "[", after=self._line)

    @property
    def end_array(self) -> str:
        """Closes an array."""
        return self._bracket("end-array", "]", before=self._line)

    @property
    def comma(self) -> str:
        """Stands between items or members."""
        return self._bracket("comma", self.style.item_separator, after=self._line)

    @property
    def colon(self) -> str:
        """Stands between a member's name and its value."""
        return self._bracket("colon", self.style.key_separator)

    def string(self, text: str) -> str:
        """Return a literal for one string."""
        return gbnf_literal(f'"{self.style.quoting.text(text)}"')

    @property
    def _line(self) -> str:
        """A line break and its indentation, where lines are broken; how deep it is is left open."""
        if not self.style.indent:
            return ""
        level = gbnf_literal(self.style.indent)
        return self.rules.add("line", f'("\\n" ({level}){{0,{DEEPEST_LINE}}})?')

    def _bracket(self, wish: str, text: str, before: str = "", after: str = "") -> str:
        parts = (before, gbnf_literal(text), after, self.rules.seam)
        return self.rules.add(wish, " ".join(filter(None, parts)))
