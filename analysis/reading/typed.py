"""Which type a schema gives a value, and the value of raw text by that type."""

from __future__ import annotations

from autoparser.analysis.conversation import Json
from autoparser.analysis.format import Notation

from .decoding import Unreadable, decode, finite

_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("null", (type(None),)),
    ("boolean", (bool,)),
    ("integer", (int,)),
    ("number", (int, float)),
    ("array", (list,)),
    ("object", (dict,)),
)


def allowed_types(schema: Json) -> frozenset[str] | None:
    """Name the types that a parameter's schema allows; None: it does not say."""
    if not isinstance(schema, dict):
        return None
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(str(each) for each in declared)
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return frozenset(_type_name(value) for value in values)
    for union in ("anyOf", "oneOf"):
        options = schema.get(union)
        if isinstance(options, list):
            found = [allowed_types(option) for option in options]
            if all(each is not None for each in found):
                return frozenset[str]().union(*(each for each in found if each))
    return None


def _type_name(value: Json) -> str:
    for name, types in _TYPES:
        if isinstance(value, types) and (name != "integer" or not isinstance(value, bool)):
            return name
    return "string"


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
    if types is None or not types & {"integer", "number"}:
        return text
    try:
        return int(text) if "integer" in types else finite(float(text))
    except (ValueError, OverflowError):
        return text
