r"""A table of GBNF rules, and how literals and classes of characters are written in it.

What is written stays inside what both llama.cpp's parser and llguidance's converter read alike:

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
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator
from string import hexdigits

from .code_points import LAST, CodePoints

RESERVED = frozenset({"root", "start"})
"""Names that the whole grammar uses, not its parts."""

_NEVER = f"[\\x00] [^\\x00-{chr(LAST)}]"
"""A null character, and one that does not exist."""


class GbnfRules:
    """Rules by name, in the order in which they were asked for; equal bodies share one rule."""

    names_alone = False
    """Whether an object that names members, and says nothing of others, has those alone."""

    def __init__(self) -> None:
        self._bodies: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        self._wished: dict[str, int] = {}
        self._recursive: dict[Hashable, str] = {}
        self.section = ""
        """What the rules that are asked for next are of, in words."""
        self._sections: dict[str, str] = {}

    def add(self, wish: str, body: str) -> str:
        """Return the name of a rule with this body, a new one named like `wish` if need be."""
        name = self._names.get(body)
        return self.define(self.reserve(wish), body) if name is None else name

    def reserve(self, wish: str) -> str:
        """Allocate a name for a rule that refers to itself; `define` must follow."""
        base = re.sub(r"[^a-z0-9]+", "-", wish.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")
        if not base or base[0].isdigit() or base in RESERVED:
            base = f"rule-{base}".rstrip("-")
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
        """Return a reserved rule its body, and its name back."""
        self._bodies[name] = body
        self._names[body] = name
        return name

    def settle(self, name: str, expression: str) -> str:
        """Return a reserved rule an expression as its body, and its name back.

        Where the expression is a rule's name, which nothing can have referred to yet, that rule
        gives way.
        """
        body = self._bodies.pop(expression, None)
        return self.define(name, expression if body is None else body)

    def recursive(self, key: Hashable, wish: str, body: Callable[[str], str]) -> str:
        """Return the name of a rule that refers to itself, the same one for an equal key.

        `body` makes its body from its name; it may ask for the same rule again.
        """
        if key not in self._recursive:
            self._recursive[key] = name = self.reserve(wish)
            self.define(name, body(name))
        return self._recursive[key]

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
            written += [f"\n# {section}\n" if section else "", *rules]
        return "".join(written)


_LONGEST_NAME = 64


def literal(text: str) -> str:
    """Write a text as a GBNF literal."""
    if text.isprintable():
        # No control character is in it, so nothing is written in digits.
        return f'"{text.translate(_PRINTABLE_ESCAPES)}"'
    return f'"{_apart([_LITERAL_ESCAPES.get(char) or _plain(char) for char in text])}"'


def character_class(points: CodePoints) -> str:
    """Write a set of characters as a GBNF class; the set must not be empty.

    Open-ended sets are written negated, as a person would.
    """
    if not points:
        raise ValueError("a class must hold a character")
    if points.ranges[-1][1] == LAST:
        inverse = points.inverse()
        if not inverse:
            return f"[\\x00-{chr(LAST)}]"
        return f"[^{_class_body(inverse)}]"
    single = points.single
    return f"[{_class_body(points)}]" if single is None else literal(single)


def any_but(characters: Iterable[str]) -> str:
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
    """Join what is written of characters; a digit that follows others is written in digits."""
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
