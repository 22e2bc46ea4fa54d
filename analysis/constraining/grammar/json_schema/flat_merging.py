"""Two flat schemas that both hold, as one."""

from __future__ import annotations

from autoparser.analysis.core.schema import Contradiction, Schema, joined

from .unwritable import unwritable


def merged(first: Schema, second: Schema, pointer: str) -> Schema | None:
    """Return a flat schema for the values of both; None where they contradict each other.

    Members and items that both speak of get an ``allOf``, to be resolved when they are written.
    Raises SchemaError, with the pointer given, for keywords that cannot be joined exactly.
    """
    try:
        found, left = joined(first, second)
    except Contradiction:
        return None
    if left:
        keyword = next(iter(left))
        if keyword in _MEMBERS:
            raise unwritable(_MEMBERS[0], pointer, "other schemas speak of the same members")
        why = f"{first[keyword]!r} and {left[keyword]!r} would have to hold both"
        raise unwritable(keyword, pointer, why)
    return found


_MEMBERS = ("patternProperties", "properties", "additionalProperties")
"""The first of them alone keeps the others from being joined."""
