"""Markers that come in pairs, as their looks tell: how often a text opens and closes each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from autoparser.analysis.core.format import Literal

_MARKER = re.compile(r"([<\[|｜]+)(/?)([|｜]*)([\w.:\-▁]+)")
_JOINT = re.compile(r"([_\-▁.:]+)")
_OPENS, _CLOSES = frozenset({"begin", "start", "bos"}), frozenset({"end", "eos"})


class Pair(NamedTuple):
    """What an opening marker and its closing one have in common."""

    brackets: str
    name: tuple[str, ...]


class Balance(NamedTuple):
    """How often a text holds the markers of each pair."""

    opened: Counter[Pair]
    closed: Counter[Pair]
    spelled: dict[Pair, str]
    """One marker of each pair, as it stands in the text."""
    within: dict[Pair, frozenset[Pair]]
    """The pairs that are open, and close later, where each pair first opens."""


def balance(text: str, but: Collection[str] = ()) -> Balance:
    """Count the markers of a text; those of `but`, such as special tokens, are left out."""
    found = Balance(Counter(), Counter(), {}, {})
    for unit in Literal.of(text).markers:
        if unit in but:
            continue
        pair, opens = _pair_of(unit)
        if pair is None:
            continue
        if opens:
            still = (each for each in found.opened if found.opened[each] > found.closed[each])
            found.within.setdefault(pair, frozenset(still))
        (found.opened if opens else found.closed)[pair] += 1
        found.spelled.setdefault(pair, unit)
    closing = {
        pair: frozenset(each for each in around if found.closed[each])
        for pair, around in found.within.items()
    }
    return found._replace(within=closing)


def crossed(text: str) -> tuple[str, str] | None:
    """Return a marker that opens within another, and the one that closes the outer before it.

    In ``<call><name>x</call></name>`` these are ``<name>`` and ``</call>``. Only pairs that open
    and close equally often are looked at: a marker that nothing closes may be a separator.
    """
    found = balance(text)
    whole = {each for each in found.opened if found.opened[each] == found.closed[each]}
    still: list[tuple[Pair, str]] = []
    for unit in Literal.of(text).markers:
        pair, opens = _pair_of(unit)
        if pair is None or pair not in whole:
            continue
        if opens:
            still.append((pair, unit))
        elif still and still[-1][0] == pair:
            still.pop()
        else:
            return (still[-1][1], unit) if any(each == pair for each, _ in still) else None
    return None


def closes(unit: str) -> bool:
    """Whether a marker closes another, as its looks tell."""
    pair, opens = _pair_of(unit)
    return pair is not None and not opens


def _pair_of(unit: str) -> tuple[Pair | None, bool]:
    """Return the pair of a marker, and whether the marker opens it."""
    match = _MARKER.match(unit)
    if match is None:
        return None, False
    brackets, slash, more, name = match.groups()
    if slash:
        return Pair(brackets + more, (name,)), False
    parts = _JOINT.split(name)
    if len(parts) > 1:
        for at, part in enumerate(parts):
            if part.lower() in _OPENS | _CLOSES:
                rest = tuple(other.lower() for other in (*parts[:at], *parts[at + 1 :]))
                return Pair(brackets, rest), part.lower() in _OPENS
    return Pair(brackets, (name,)), True
