"""The value of raw text, by the types that its schema allows."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Notation

from .value_decoding import Unreadable, decode, finite

_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("null", (type(None),)),
    ("boolean", (bool,)),
    ("integer", (int,)),
    ("number", (int, float)),
    ("array", (list,)),
    ("object", (dict,)),
)


def typed(text: str, types: frozenset[str] | None, notation: Notation) -> Json:
    """Read the raw text of a value whose notation does not quote strings.

    By the schema's types: a string stays as it is; of several types, the first that the text
    reads as, in the order null, boolean, integer, number, array, object, string. Without types,
    text that a value of another type is written as is that value, everything else a string.
    A text that reads as none of its types is a string.
    """
    if types == frozenset({"string"}):
        return text
    try:
        value = decode(text, notation)
    except Unreadable:
        return _number(text, types)
    if types is None:
        return value if not isinstance(value, str) else text
    if isinstance(value, float) and value.is_integer() and "number" not in types:
        value = int(value) if "integer" in types else value
    for name, kinds in _TYPES:
        if name in types and isinstance(value, kinds):
            if isinstance(value, bool) and name in ("integer", "number"):
                continue
            return value
    return text


def _number(text: str, types: frozenset[str] | None) -> Json:
    """Read a number that JSON would not write so, such as one with leading zeros."""
    for name, read in (("integer", int), ("number", float)):
        if types is not None and name in types:
            try:
                return finite(read(text))
            except (ValueError, OverflowError):
                continue
    return text
