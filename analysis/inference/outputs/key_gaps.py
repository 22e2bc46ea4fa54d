"""Values that show themselves after a key: numbers, words for true or null, lists and objects."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Escape, Text
from autoparser.analysis.core.schema import JsonType, type_of

from .offered import WordSeen

__all__ = ["KeyGap", "literals_in"]


@dataclass(frozen=True, slots=True)
class KeyGap:
    """What stands between a key and the next key, or the end of its call."""

    sighting: int
    key: WordSeen
    text: str
    where: str
    """What follows: another key and the markup before it, another call, or the end."""
    kinds: frozenset[JsonType]
    escape: Escape
    """How strings are written, and what else stands where they do."""


_LITERAL = re.compile(
    r"(?<![\w.])(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?Infinity|NaN|true|false|null|True|False|None)(?!\w)"
    r"|[\[{]"
)
_WORDS: Mapping[str, Json] = {"True": True, "False": False, "None": None}


def literals_in(gap: KeyGap, start: int = 0) -> Iterator[tuple[Json, int, int]]:
    """Go through the values in a gap that show themselves and have a type of the schema."""
    for match in _LITERAL.finditer(gap.text, start):
        found = _read_literal(gap.text, match, gap.escape)
        if found is not None and _allowed(found[0], gap.kinds):
            yield found[0], match.start(), found[1]


def _allowed(value: Json, kinds: frozenset[JsonType]) -> bool:
    kind = type_of(value)
    return kind in kinds or (kind is JsonType.INTEGER and JsonType.NUMBER in kinds)


def _read_literal(text: str, match: re.Match[str], escape: Escape) -> tuple[Json, int] | None:
    word = match.group()
    if word in _WORDS:
        return _WORDS[word], match.end()
    try:
        value, end = json.JSONDecoder().raw_decode(text, match.start())
    except (ValueError, RecursionError):
        if word not in _CLOSERS:
            return None
        start = match.start()
        return _python_container(text, start) or _escaped_container(text, start, escape)
    return value, end


_CLOSERS = {"[": "]", "{": "}"}


def _python_container(text: str, at: int) -> tuple[Json, int] | None:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "[{") - (text[end] in "]}")
        if depth == 0:
            try:
                return ast.literal_eval(text[at : end + 1]), end + 1
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
    return None


def _escaped_container(text: str, at: int, escape: Escape) -> tuple[Json, int] | None:
    """Read JSON that is escaped as strings are, as `guest="{&#34;name&#34;: &#34;Bo&#34;}"`."""
    for match in re.finditer(re.escape(_CLOSERS[text[at]]), text[at:]):
        end = at + match.end()
        try:
            return json.loads(Text(escape=escape).read(text[at:end])), end
        except (ValueError, RecursionError):
            continue
    return None
