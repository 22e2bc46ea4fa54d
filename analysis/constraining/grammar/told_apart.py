"""A text without quotes beside values of other types: it is read as what it looks like.

Where a schema allows `"ab"` of two letters or an integer, `12` is an integer and `123` another one,
so both can be written. Where the integer must be above 20, `12` would still be read as one, and be
wrong: of such a text the schema says nothing that a grammar could be held to.
"""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.schema import UnheldKeywordError

from .paths import Item, Path, distinct
from .rules import JsonValue, PatternNode, Prose

_PLAIN = {
    "integer": r"-?(?:0|[1-9][0-9]*)",
    "number": r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
    "boolean": "true|false",
    "null": "null",
}
_SAYS_NOTHING = frozenset(
    {"type", "title", "description", "default", "examples", "x-place"}
    | {"format", "pattern", "minLength", "maxLength"}
)
"""Keywords that hold none of these values to anything: some speak of strings alone."""


def told_apart(ways: Sequence[Path], closes: Sequence[str]) -> list[Path]:
    """Return the ways to write a value, each once, its texts told from its other values.

    `closes` are texts that end a value. Raises UnheldKeywordError where that cannot be.
    """
    firsts = [way[0] for way in ways if way]
    shapes = [each.shape for each in firsts if isinstance(each, Prose)]
    shape = next(filter(None, shapes), None)
    if shape is None or not any(isinstance(each, JsonValue) for each in firsts):
        return distinct(ways)
    found: list[Path] = []
    for way in ways:
        first = _closed_by(way[0], closes) if way else None
        if isinstance(first, JsonValue):
            raise UnheldKeywordError(
                f"{shape.keywords[0]} cannot be held to where a string without quotes may be read"
                " as a value of another type",
                pointer=shape.pointer,
                keyword=shape.keywords[0],
                hint="allow strings alone, or let the grammar be looser (--loosen)",
            )
        found.append(way if first is None else (first, *way[1:]))
    return distinct(found)


def _closed_by(item: Item, closes: Sequence[str]) -> Item:
    """Return a value that nothing is said of but its type as text, which ends with its close."""
    if not isinstance(item, JsonValue) or not isinstance(item.schema, dict):
        return item
    kind = item.schema.get("type")
    kinds = [str(each) for each in kind] if isinstance(kind, list) else [str(kind)]
    if item.schema.keys() - _SAYS_NOTHING or not set(kinds) <= _PLAIN.keys():
        return item
    regex = "|".join(_PLAIN[each] for each in kinds)
    return PatternNode(f"(?:{regex})", escapes=tuple(filter(None, closes)))
