"""The names that rules for the schemas of a document would best have."""

from __future__ import annotations


def wish_for(pointer: str) -> str:
    """Return the name that a rule for the schema at a pointer would best have: what a person named.

    ``#/properties/city`` is ``city``, its items ``city-item``, the root ``json``.
    """
    named, item = "json", False
    tokens = pointer.split("/")[1:]
    for at, token in enumerate(tokens):
        if at and tokens[at - 1] in _NAMED:
            named, item = token, False
        elif token in _ITEMS:
            item = True
    return f"{named}-item" if item else named


_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_ITEMS = frozenset({"items", "prefixItems", "additionalItems", "additionalProperties"})
