"""The notations that Python itself writes, and the values that tell them apart."""

from __future__ import annotations

from functools import lru_cache

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Notation, Order, json_notation, python_notation
from autoparser.analysis.inference.probing import Sentinels

from .string_notation import hostile_string

_ORDERS = (Order.GIVEN, Order.SORTED, Order.SORTED_FOLDED)


@lru_cache(maxsize=64)
def known_notations(
    *, comma: str = ", ", colon: str = ": ", indent: str = ""
) -> tuple[Notation, ...]:
    """Return the notations that Python itself writes, the usual ones first."""
    as_json = tuple(
        json_notation(comma=comma, colon=colon, ascii_only=ascii_only, order=order, indent=indent)
        for order in _ORDERS
        for ascii_only in (False, True)
    )
    return as_json if indent else (*as_json, python_notation())


def rich_object(sentinels: Sentinels) -> dict[str, Json]:
    """Return an object that tells the known notations apart: every type, nested, out of order."""
    keys, values = sentinels.keys, sentinels.values
    return {
        keys[0]: [1, hostile_string(values[0]), None],
        "B" + keys[1]: {"z": 2.5, "a": []},
        keys[2]: {},
        "a" + hostile_string(keys[1]): True,
    }


def rich_array(sentinels: Sentinels) -> list[Json]:
    """Return an array that tells the known notations apart."""
    return [1, hostile_string(sentinels.values[0]), None, False, [2.5, []], rich_object(sentinels)]


def every_type(sentinels: Sentinels) -> dict[str, Json]:
    """Return an object that has a member of each type, and the containers that tell most."""
    members = (hostile_string(sentinels.values[0]), 1, 2.5, True, False, None)
    named = {f"{sentinels.keys[0]}{at}": value for at, value in enumerate(members)}
    return {**named, **rich_object(sentinels)}


_SPACINGS = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"))


def recognise(value: Json, text: str, *, margin: str = "", indent: str = "") -> Notation | None:
    """Say which known notation writes `value` as `text`, if need be on lines of their own.

    `margin` is what the line begins with on which the value stands.
    """
    for step in ("", indent) if indent else ("",):
        for comma, colon in _SPACINGS:
            for notation in known_notations(comma=comma, colon=colon, indent=step):
                if notation.write(value, margin) == text:
                    return notation
    return None
