"""How a string is written: its quotes, its escapes, and what a template strips from it."""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from markupsafe import escape


class Strip(StrEnum):
    """What one edge of a text loses when the template writes it."""

    NOTHING = "nothing"
    NEWLINE = "one newline"
    NEWLINES = "newlines"
    WHITESPACE = "whitespace"

    def left(self, text: str) -> str:
        """Strip the beginning of `text`."""
        if self is Strip.NEWLINE:
            return text.removeprefix("\n")
        return text.lstrip(_STRIPPED[self]) if self in _STRIPPED else text

    def right(self, text: str) -> str:
        """Strip the end of `text`."""
        if self is Strip.NEWLINE:
            return text.removesuffix("\n")
        return text.rstrip(_STRIPPED[self]) if self in _STRIPPED else text


_STRIPPED: Mapping[Strip, str | None] = {
    Strip.NEWLINES: "\n",
    Strip.WHITESPACE: None,
}


@dataclass(frozen=True, slots=True)
class Edges:
    """What the two edges of a text lose."""

    left: Strip = Strip.NOTHING
    right: Strip = Strip.NOTHING

    def apply(self, text: str) -> str:
        """Write `text` as the template does."""
        if self.left is Strip.NOTHING and self.right is Strip.NOTHING:
            return text
        return self.right.right(self.left.left(text))


class Escape(StrEnum):
    """How the inside of a string is written."""

    VERBATIM = "verbatim"
    JSON = "json"
    JSON_ASCII = "json-ascii"
    PYTHON = "python"
    """Python's `repr`, which chooses its quotes by what the string holds."""
    HTML = "html"
    JSON_HTML = "json, then html"
    TABLE = "table"
    """Character by character, as `Text.table` says."""

    @property
    def words(self) -> str:
        """Return what comes after "written", for a person."""
        return _WORDS[self]


_WORDS = {
    Escape.VERBATIM: "as they are",
    Escape.JSON: "with the escapes of JSON",
    Escape.JSON_ASCII: "with the escapes of JSON, in ASCII alone",
    Escape.PYTHON: "as Python's repr does",
    Escape.HTML: "with the escapes of HTML",
    Escape.JSON_HTML: "with the escapes of JSON, then those of HTML",
    Escape.TABLE: "with escapes of their own",
}


_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""`json.dumps` makes one for each text, which takes longer than most texts."""


def _to_json(text: str) -> str:
    return _ENCODER.encode(text)[1:-1]


def _from_json(inside: str) -> str:
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return inside


def from_python(literal: str) -> str:
    """Return the string of a Python literal; the text itself where it is not one."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return literal
    return value if isinstance(value, str) else literal


def _itself(text: str) -> str:
    return text


_BY_RULE: Mapping[Escape, tuple[Callable[[str], str], Callable[[str], str]]] = {
    Escape.VERBATIM: (_itself, _itself),
    Escape.JSON: (_to_json, _from_json),
    Escape.PYTHON: (repr, from_python),
    Escape.JSON_ASCII: (lambda text: json.dumps(text)[1:-1], _from_json),
    Escape.HTML: (lambda text: str(escape(text)), html.unescape),
    Escape.JSON_HTML: (
        lambda text: str(escape(_to_json(text))),
        lambda inside: _from_json(html.unescape(inside)),
    ),
}
"""What writes the inside of a string, and what reads it."""

ESCAPES_BY_RULE = tuple(_BY_RULE)
"""The escapes that one rule tells for all characters; a table is read off a render instead."""


@dataclass(frozen=True, slots=True)
class StringGuard:
    """A wrapper written only around strings that hold one of these characters."""

    characters: str
    open: str
    close: str


@dataclass(frozen=True, slots=True)
class Text:
    """How a string value or a key is written."""

    open: str = ""
    close: str = ""
    escape: Escape = Escape.VERBATIM
    edges: Edges = field(default_factory=Edges)
    table: Mapping[str, str] = field(default_factory=dict[str, str])
    guard: StringGuard | None = None

    @property
    def escapes(self) -> tuple[str, ...]:
        """What a table writes for a character so that its own close can be told from text."""
        if self.escape is not Escape.TABLE or not self.close:
            return ()
        return tuple(written for written in self.table.values() if self.close[0] in written)

    def write(self, text: str) -> str:
        """Write one string."""
        text = self.edges.apply(text)
        if self.escape is Escape.TABLE:
            inner = "".join(self.table.get(char, char) for char in text)
        else:
            inner = _BY_RULE[self.escape][0](text)
        guard = self.guard
        if guard is not None and any(char in text for char in guard.characters):
            inner = f"{guard.open}{inner}{guard.close}"
        return f"{self.open}{inner}{self.close}"

    def read(self, inside: str) -> str:
        """Return the string whose inside is written so: what stands between `open` and `close`."""
        if self.escape is Escape.TABLE:
            return self._from_table(inside)
        guard = self.guard
        if guard and inside.startswith(guard.open) and inside.endswith(guard.close):
            inside = inside[len(guard.open) : len(inside) - len(guard.close)]
        return _BY_RULE[self.escape][1](inside)

    def _from_table(self, inside: str) -> str:
        back = {written: char for char, written in self.table.items() if written}
        if not back:
            return inside
        written = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
        return re.sub(written, lambda match: back[match.group()], inside)
