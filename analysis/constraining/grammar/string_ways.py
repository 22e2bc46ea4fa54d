"""How a string or a key of a notation is written, as ways through a grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from json.encoder import encode_basestring

from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import ROOT, Schema

from .json_schema import has_text, is_filled, string_shape
from .paths import Path, joined
from .rules import JsonStyle, JsonValue, PatternNode, Prose
from .spelled import HTML, lost_spellings, spelled

_JSON_HTML = r"(?:[^<>&'\x22\\\x00-\x1f]|&lt;|&gt;|&amp;|&#39;|\\(?:[\\nrtbf]|&#34;))*"
_CODE = (
    r"\\x(?:[01][0-9a-f]|7f|[89][0-9a-f]|a[0d])"
    r"|\\u(?:[0-9abcef][0-9a-f]{3}|d[0-7][0-9a-f]{2})"
    r"|\\U00(?:0[1-9a-f]|10)[0-9a-f]{4}"
)
"""What Python writes for a character that cannot be printed."""
_PYTHON = {
    "'": rf"'(?:[^'\\\x00-\x1f\x7f]|\\[\\'nrt]|{_CODE})*'",
    # Python quotes so where the text holds a quote of the other kind.
    '"': rf'"(?:[^"\'\\\x00-\x1f\x7f]|\\[\\nrt]|{_CODE})*'
    rf'\'(?:[^"\\\x00-\x1f\x7f]|\\[\\nrt]|{_CODE})*"',
}
_KEY_MARKS = "<>{}[]()\"'`=:,;|&\\"
"""Characters that a notation writes around keys: one of them in a key may be taken for its end."""


def string_ways(
    text: Text, schema: Schema, exclude: Sequence[str], others: Sequence[str] = ()
) -> list[Path]:
    """Return the ways to write a string; `exclude` are texts that would end it too early.

    Where nothing guards the characters of values that begin as `others`, nothing guards those of a
    text that begins so: it may be such a value.
    """
    if text.escape in (Escape.JSON, Escape.JSON_ASCII):
        style = JsonStyle(ascii_only=text.escape is Escape.JSON_ASCII)
        value = JsonValue({**schema, "type": "string"}, style)
        if (text.open, text.close) == ('"', '"'):
            return [(value,)]
    shape = string_shape(schema, ROOT)
    if not has_text(shape):
        return []
    said = bool(shape.keywords)
    enclosed = _enclosed(text, exclude)
    if enclosed:
        shapes = [spelled(shape, text, quote, exclude) for _, _, quote in enclosed]
        escapes = () if text.close else _escapes(text)
        return [
            (PatternNode(regex, close=close, shape=each if said else None, escapes=escapes),)
            for (regex, close, _), each in zip(enclosed, shapes, strict=True)
            if each is not None
        ]
    inner = spelled(shape, replace(text, open="", close=""))
    if inner is None:
        return []
    # That alone needs no shape.
    filled = is_filled(shape)
    prose = Prose(
        tuple(dict.fromkeys(each for each in exclude if each)),
        left=text.edges.left,
        right=text.edges.right,
        may_be_empty=not filled,
        shape=inner if said and not filled else None,
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
        *(joined(text.open, each, prose, text.close) for each in others),
        joined(text.open, guard.open, guarded, guard.close, text.close),
    ]


def _enclosed(text: Text, exclude: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the strings that are told from what follows by their escapes alone.

    For each way to quote them: the regular expression, what closes it, and Python's quote. What an
    escape writes is left out where it would be read as one of the texts that end the string.
    """
    if text.escape is Escape.PYTHON:
        return [(regex, quote, quote) for quote, regex in _PYTHON.items()]
    if text.escape is Escape.JSON_HTML:
        return [(f"{escaped(text.open)}{_JSON_HTML}{escaped(text.close)}", text.close, "")]
    if text.escape is Escape.HTML:
        return [(_by_table(text, HTML, exclude), text.close, "")]
    return [(_by_table(text, text.table, exclude), text.close, "")] if text.escapes else []


def _escapes(text: Text) -> tuple[str, ...]:
    """Return what is written for characters that do not stand for themselves."""
    if text.escape is Escape.PYTHON:
        return ()
    table = HTML if text.escape in (Escape.HTML, Escape.JSON_HTML) else text.table
    return tuple(filter(None, table.values()))


def _by_table(text: Text, table: Mapping[str, str], exclude: Sequence[str]) -> str:
    """Return the regular expression of what a table writes, quotes around it."""
    kept = "".join(map(escaped, table))
    lost = lost_spellings(table, exclude)
    told = [escaped(to) for char, to in table.items() if to and char not in lost]
    ways = "|".join([f"[^{kept}]", *told])
    return f"{escaped(text.open)}(?:{ways})*{escaped(text.close)}"


def _unwritten(text: Text) -> set[str]:
    """Return the characters that a table replaces and that no replacement holds."""
    written = "".join(text.table.values())
    return {char for char in text.table if char not in written}


def key_path(text: Text, declared: Sequence[str], ends: str) -> Path:
    """Return the way to write a key that is made up: a name that is none of the declared ones.

    It is any text of some words, such as ``X-Api-Key`` or ``first name``, without a character of
    `ends`, and without those that notations write around keys.
    """
    opening, _, close = text.write("K").partition("K")
    letter = f"[^\\s\\x00-\\x20\\x7f-\\xa0{escaped(''.join(sorted({*_KEY_MARKS, *ends.strip()})))}]"
    regex = f"{letter}+" + ("" if " " in ends else f"(?: {letter}+)*")
    return joined(opening, PatternNode(regex, tuple(declared)), close)


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
