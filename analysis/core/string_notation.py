r"""How a string is written: its quotes, its escapes, and wrappers around some strings.

For example, a string of JSON, and one that is wrapped only if it contains markup:

    >>> quoted = StringText('"', '"', StringEscape.JSON)
    >>> print(quoted.write('say "hi"'), quoted.read(r'say \"hi\"'))
    "say \"hi\"" say "hi"
    >>> wrapped = StringText(guard=StringGuard("<&", "<![CDATA[", "]]>"))
    >>> wrapped.write("plain"), wrapped.write("a < b"), wrapped.read("<![CDATA[a < b]]>")
    ('plain', '<![CDATA[a < b]]>', 'a < b')
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
import ast
import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from .turn_parts import StrippedEdges


class StringEscape(StrEnum):
    """How the characters of a string are escaped."""

    VERBATIM = "verbatim"
    JSON = "json"
    JSON_ASCII = "json-ascii"
    PYTHON = "python"
    """Python's `repr`, which chooses the quotes by the string's characters."""
    HTML = "html"
    JSON_HTML = "json, then html"
    TABLE = "table"
    """Character by character, by `StringText.table`."""

    @property
    def words(self) -> str:
        """Describe the escape in words that follow "written"."""
        return _WORDS[self]


_WORDS = {
    StringEscape.VERBATIM: "as they are",
    StringEscape.JSON: "with the escapes of JSON",
    StringEscape.JSON_ASCII: "with the escapes of JSON, in ASCII alone",
    StringEscape.PYTHON: "as Python's repr does",
    StringEscape.HTML: "with the escapes of HTML",
    StringEscape.JSON_HTML: "with the escapes of JSON, then those of HTML",
    StringEscape.TABLE: "with escapes of their own",
}


_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""Shared, since `json.dumps` makes one for each text, which takes longer than most texts."""


def _to_json(text: str) -> str:
    return _ENCODER.encode(text)[1:-1]


def _from_json(inside: str) -> str:
    try:
        # Not strict, so that unescaped line breaks and tabs in a string are read.
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return inside


def _to_html(text: str) -> str:
    # Imported here like its inverse: few templates escape so.
    from markupsafe import escape  # noqa: PLC0415

    return str(escape(text))


def from_html(inside: str) -> str:
    """Return a text with HTML's references replaced by their characters."""
    # Imported here because its table of entities is large.
    from html import unescape  # noqa: PLC0415

    return unescape(inside)


def from_python(literal: str) -> str:
    """Return the string of a Python literal, or the text itself if it is not one."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return literal
    return value if isinstance(value, str) else literal


def _itself(text: str) -> str:
    return text


_BY_RULE: Mapping[StringEscape, tuple[Callable[[str], str], Callable[[str], str]]] = {
    StringEscape.VERBATIM: (_itself, _itself),
    StringEscape.JSON: (_to_json, _from_json),
    StringEscape.PYTHON: (repr, from_python),
    StringEscape.JSON_ASCII: (lambda text: json.dumps(text)[1:-1], _from_json),
    StringEscape.HTML: (_to_html, from_html),
    StringEscape.JSON_HTML: (
        lambda text: _to_html(_to_json(text)),
        lambda inside: _from_json(from_html(inside)),
    ),
}
"""The functions that escape and unescape a string."""

ESCAPES_BY_RULE = tuple(_BY_RULE)
"""The escapes with one rule for all characters; a table is learned from a render instead."""


class StringGuard(Struct, frozen=True):
    """A wrapper around those strings only that contain one of these characters."""

    characters: str
    r"""Characters that need the wrapper, e.g. `"\n<&"`."""
    open: str
    """Before the string, e.g. `"<![CDATA["`."""
    close: str
    """After the string, e.g. `"]]>"`."""


class StringText(Struct, frozen=True):
    """How a string value or a key is written."""

    open: str = ""
    """The opening quote, e.g. `'"'` or `'<|"|>'`; empty if a string has no quotes."""
    close: str = ""
    """The closing quote, e.g. `'"'` or `'<|"|>'`."""
    escape: StringEscape = StringEscape.VERBATIM
    """How the characters between the quotes are escaped, e.g. `StringEscape.JSON`."""
    edges: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped first, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    table: Mapping[str, str] = field(default_factory=dict[str, str])
    """The text of each character that is escaped, such as `{"<": "&lt;", "&": "&amp;"}`, for
    `TABLE`."""
    guard: StringGuard | None = None
    r"""The wrapper around strings with certain characters, such as
    `StringGuard("\n<&", "<![CDATA[", "]]>")`, or None."""

    @property
    def escapes(self) -> tuple[str, ...]:
        """The escapes of a table that contain the closing quote, which close no string."""
        if self.escape is not StringEscape.TABLE or not self.close:
            return ()
        return tuple(written for written in self.table.values() if self.close[0] in written)

    def write(self, text: str) -> str:
        """Write one string."""
        text = self.edges.apply(text)
        if self.escape is StringEscape.TABLE:
            inner = "".join(self.table.get(char, char) for char in text)
        else:
            inner = _BY_RULE[self.escape][0](text)
        guard = self.guard
        if guard is not None and any(char in text for char in guard.characters):
            inner = f"{guard.open}{inner}{guard.close}"
        return f"{self.open}{inner}{self.close}"

    def read(self, inside: str) -> str:
        """Decode the text between `open` and `close`."""
        if self.escape is StringEscape.TABLE:
            return self._from_table(inside)
        guard = self.guard
        if guard and inside.startswith(guard.open) and inside.endswith(guard.close):
            inside = inside[len(guard.open) : len(inside) - len(guard.close)]
        return _BY_RULE[self.escape][1](inside)

    def has_written(self, inside: str) -> bool:
        """Return whether `write` gives this text between the quotes, spaces at its edges aside."""
        whole = self.write(self.read(inside))
        return whole[len(self.open) : len(whole) - len(self.close)].strip() == inside.strip()

    def _from_table(self, inside: str) -> str:
        # A character that the template drops leaves no text to decode.
        back = {written: char for char, written in self.table.items() if written}
        if not back:
            return inside
        # The longest first, since one escape may begin with another.
        written = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
        return re.sub(written, lambda match: back[match.group()], inside)
