"""How a string or a key of a notation is written, as ways through a grammar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from json.encoder import encode_basestring

from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import ROOT, Schema

from .json_schema import has_text, string_shape
from .paths import Path, joined
from .rules import JsonStyle, JsonValue, PatternNode, Prose
from .spelled import spelled

_HTML = {
    Escape.HTML: r"(?:[^<>&'\x22]|&lt;|&gt;|&amp;|&#39;|&#34;)*",
    Escape.JSON_HTML: (r"(?:[^<>&'\x22\\\x00-\x1f]|&lt;|&gt;|&amp;|&#39;|\\(?:[\\nrtbf]|&#34;))*"),
}
_PYTHON = {
    "'": r"'(?:[^'\\\x00-\x1f\x7f]|\\[\\'nrt])*'",
    # Python quotes so where the text holds a quote of the other kind.
    '"': r'"(?:[^"\'\\\x00-\x1f\x7f]|\\[\\nrt])*\'(?:[^"\\\x00-\x1f\x7f]|\\[\\nrt])*"',
}
KEY = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
"""A name that a model may make up for a member."""


def string_ways(text: Text, schema: Schema, exclude: Sequence[str]) -> list[Path]:
    """Return the ways to write a string; `exclude` are texts that would end it too early."""
    if text.escape in (Escape.JSON, Escape.JSON_ASCII):
        style = JsonStyle(ascii_only=text.escape is Escape.JSON_ASCII)
        value = JsonValue({**schema, "type": "string"}, style)
        if (text.open, text.close) == ('"', '"'):
            return [(value,)]
    shape = string_shape(schema, ROOT)
    if not has_text(shape):
        return []
    said = bool(shape.keywords)
    enclosed = _enclosed(text)
    if enclosed:
        shapes = [spelled(shape, text, quote) for _, _, quote in enclosed]
        return [
            (PatternNode(regex, close=close, shape=each if said else None),)
            for (regex, close, _), each in zip(enclosed, shapes, strict=True)
            if each is not None
        ]
    inner = spelled(shape, replace(text, open="", close=""))
    if inner is None:
        return []
    prose = Prose(
        tuple(dict.fromkeys(each for each in exclude if each)),
        left=text.edges.left,
        right=text.edges.right,
        may_be_empty=True,
        shape=inner if said else None,
        part="argument",
    )
    if text.escape is Escape.TABLE:
        prose = replace(prose, exclude=tuple(set(prose.exclude) | _unwritten(text)))
    guard = text.guard
    if guard is None:
        return [joined(text.open, prose, text.close)]
    plain = replace(prose, exclude=(*prose.exclude, *guard.characters))
    guarded = replace(prose, exclude=(guard.close,))
    return [
        joined(text.open, plain, text.close),
        joined(text.open, guard.open, guarded, guard.close, text.close),
    ]


def _enclosed(text: Text) -> list[tuple[str, str, str]]:
    """Return the strings that are told from what follows by their escapes alone.

    For each way to quote them: the regular expression, what closes it, and Python's quote.
    """
    if text.escape is Escape.PYTHON:
        return [(regex, quote, quote) for quote, regex in _PYTHON.items()]
    if text.escape in _HTML:
        inner = _HTML[text.escape]
        return [(f"{escaped(text.open)}{inner}{escaped(text.close)}", text.close, "")]
    return [(_by_table(text), text.close, "")] if text.escapes else []


def _by_table(text: Text) -> str:
    """Return the regular expression of what a table writes, quotes around it."""
    kept = "".join(map(escaped, text.table))
    written = "|".join(escaped(each) for each in text.table.values() if each)
    return f"{escaped(text.open)}(?:[^{kept}]|{written})*{escaped(text.close)}"


def _unwritten(text: Text) -> set[str]:
    """Return the characters that a table replaces and that no replacement holds."""
    written = "".join(text.table.values())
    return {char for char in text.table if char not in written}


def key_path(text: Text, declared: Sequence[str]) -> Path:
    """Return the way to write a key that is made up: a name that is none of the declared ones."""
    opening, _, close = text.write("K").partition("K")
    return joined(opening, PatternNode(KEY, tuple(declared)), close)


@lru_cache(maxsize=1024)
def escaped(text: str) -> str:
    """Write a text as a regular expression that Python and Rust read alike."""
    return "".join(_escape(char) for char in text)


_CONTROL = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~/-]")


def _escape(char: str) -> str:
    if char in _CONTROL:
        return _CONTROL[char]
    if _SPECIAL.match(char):
        return f"\\{char}"
    return char if char.isprintable() else f"\\x{{{ord(char):x}}}"


def quoted(text: str) -> str:
    """Write a text as a string that Lark reads."""
    return encode_basestring(text).replace("\x7f", "\\u007f")
