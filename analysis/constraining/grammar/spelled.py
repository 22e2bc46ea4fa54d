"""Regular expressions of a text, as expressions of what a notation writes for the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence as SequenceOf
from dataclasses import replace

from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import UnheldKeywordError

from .json_schema import StringShape
from .json_schema.code_points import CodePoints
from .json_schema.regex_nodes import (
    Anchor,
    Character,
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
)

_CONTROLS = CodePoints.of((0, 0x1F))
HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&#39;", '"': "&#34;"}
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JSON = {**_SHORT, "\b": "\\b", "\f": "\\f"}


def spelled(
    shape: StringShape, text: Text, quote: str = "", closes: SequenceOf[str] = ()
) -> StringShape | None:
    """Return the shape of what a notation writes for the strings of a shape, quotes and all.

    In HTML, ``^[<a]$`` becomes ``(a|&lt;)``. `quote` is what Python has chosen. None where the
    notation writes no such string that is not ended by one of the `closes` within it.
    """
    table, never = _spelling(text, quote)
    lost = lost_spellings(table, closes)
    table = {char: to for char, to in table.items() if char not in lost}
    never |= CodePoints.among(lost)
    opened, closed = (quote, quote) if quote else (text.open, text.close)
    if not table and not never and not opened and not closed:
        return shape
    found: list[Regex] = []
    for regex in _as_one(shape):
        inner = _mapped(regex, table, never)
        if inner is None:
            return None
        found.append(RegexSequence((_literal(opened), inner, _literal(closed))))
    return replace(shape, patterns=tuple(found), least=0, most=None)


def lost_spellings(table: Mapping[str, str], closes: SequenceOf[str]) -> str:
    """Return the characters whose spelling is read as what closes the string.

    Where HTML's ``&#34;`` closes, a quote in the string would.
    """
    ends = tuple(close for close in closes if close)
    return "".join(char for char, to in table.items() if to.startswith(ends))


def _as_one(shape: StringShape) -> tuple[Regex, ...]:
    """Return a shape as one expression, where that can be said, or else as several."""
    try:
        single = shape.single()
    except UnheldKeywordError:
        return shape.regexes
    return shape.regexes if single is None else (single,)


def _spelling(text: Text, quote: str) -> tuple[Mapping[str, str], CodePoints]:
    """Return what is written for some characters, and the characters that are never written."""
    match text.escape:
        case Escape.PYTHON:
            never = _CONTROLS | CodePoints.among("\x7f")
            if quote == '"':
                return _SHORT, never | CodePoints.among(quote)
            return {**_SHORT, quote: f"\\{quote}"}, never
        case Escape.HTML:
            return HTML, CodePoints()
        case Escape.JSON_HTML:
            return {**HTML, **_JSON, '"': "\\&#34;"}, _CONTROLS
        case Escape.TABLE:
            return text.table, CodePoints()
        case _:
            return {}, CodePoints()


def _mapped(regex: Regex, table: Mapping[str, str], never: CodePoints) -> Regex | None:
    """Write each character as the table has it; None where no text is left."""
    match regex:
        case Character(points):
            return _character(points, table, never)
        case RegexSequence(parts):
            found = [_mapped(part, table, never) for part in parts]
            kept = [part for part in found if part is not None]
            return RegexSequence(tuple(kept)) if len(kept) == len(found) else None
        case RegexChoice(options):
            return _either([_mapped(option, table, never) for option in options])
        case RegexRepeat(item, least, most):
            again = _mapped(item, table, never)
            if again is None:
                return None if least else RegexSequence()
            return RegexRepeat(again, least, most)
        case Anchor():
            raise ValueError("anchors must be resolved before")


def _character(points: CodePoints, table: Mapping[str, str], never: CodePoints) -> Regex | None:
    plain = points - never - CodePoints.among("".join(table))
    return _either(
        [
            Character(plain) if plain else None,
            *(_literal(to) for char, to in table.items() if points & CodePoints.of(char)),
        ]
    )


def _either(options: SequenceOf[Regex | None]) -> Regex | None:
    kept = [option for option in options if option is not None]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else RegexChoice(tuple(kept))


def _literal(text: str) -> Regex:
    return RegexSequence(tuple(Character(CodePoints.of(char)) for char in text))
