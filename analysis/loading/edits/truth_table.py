"""What a condition comes to, whatever its parts hold.

A part is what `and`, `or` and `not` put together: `a` and `b > 1` in `a or (not a and b > 1)`. That
condition holds wherever `a or b > 1` does, and `a or not a` always does. Where `a` holds, it is
defined, and is not none.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from jinja2 import nodes

from autoparser.analysis.core.errors import TemplateSyntaxError
from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["always", "same_truth"]

MOST_PARTS = 8
"""Conditions of more parts are not looked at."""


def always(condition: str) -> bool | None:
    """Return what a condition always comes to; None where that hangs on its parts."""
    found = _truths(condition, {})
    return found[0] if found and len({*found}) == 1 else None


def same_truth(one: str, other: str) -> bool:
    """Say whether two conditions come to the same, whatever their parts hold."""
    parts = {**_parts(_read(one)), **_parts(_read(other))}
    found = _truths(one, parts)
    return bool(found) and found == _truths(other, parts)


def _truths(condition: str, parts: Mapping[str, nodes.Node]) -> list[bool]:
    """Return what it comes to for each of what its parts may hold; nothing of what is too long."""
    read = _read(condition)
    named = parts or _parts(read)
    if read is None or len(named) > MOST_PARTS:
        return []
    held = (
        dict(zip(named, each, strict=True)) for each in product((False, True), repeat=len(named))
    )
    return [_truth(read, each) for each in held if _possible(named, each)]


def _possible(parts: Mapping[str, nodes.Node], held: Mapping[str, bool]) -> bool:
    """Say whether parts can hold so together: what holds something is there."""
    for name, part in parts.items():
        if isinstance(part, nodes.Test) and held.get(repr(part.node)):
            absent = {"none": True, "undefined": True, "defined": False}.get(part.name)
            if held[name] is absent:
                return False
    return True


def _read(condition: str) -> nodes.Node | None:
    try:
        found = ChatTemplate(f"{{% if {condition} %}}{{% endif %}}").syntax_tree.find(nodes.If)
    except TemplateSyntaxError:
        return None
    return found.test if found is not None else None


def _parts(read: nodes.Node | None) -> dict[str, nodes.Node]:
    match read:
        case nodes.And() | nodes.Or():
            return {**_parts(read.left), **_parts(read.right)}
        case nodes.Not():
            return _parts(read.node)
        case nodes.Const() | nodes.List(items=[]) | nodes.Dict(items=[]) | None:
            return {}
        case _:
            return {repr(read): read}


def _truth(read: nodes.Node, held: Mapping[str, bool]) -> bool:
    match read:
        case nodes.And():
            return _truth(read.left, held) and _truth(read.right, held)
        case nodes.Or():
            return _truth(read.left, held) or _truth(read.right, held)
        case nodes.Not():
            return not _truth(read.node, held)
        case nodes.Const():
            return bool(read.value)
        case nodes.List(items=[]) | nodes.Dict(items=[]):
            return False
        case _:
            return held[repr(read)]
