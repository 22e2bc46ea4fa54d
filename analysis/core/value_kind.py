"""What a value of a YAML, TOML or JSON file is, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

__all__ = ["is_list", "is_mapping", "is_row", "kind_of"]

_KINDS: Mapping[type[object], str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a text",
    type(None): "empty",
}


_MAPPINGS = (dict, Mapping)
"""Nearly every object is a plain dictionary, which needs no question to an abstract class."""


def kind_of(value: object) -> str:
    """Say what a value is, in words for a person."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Say whether a value is an object, whatever its members are."""
    return isinstance(value, _MAPPINGS)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Say whether a value is a list, whatever its items are."""
    return isinstance(value, list)


def is_row(value: object) -> TypeGuard[Sequence[object]]:
    """Say whether a value is a list or a tuple, whatever its items are."""
    return isinstance(value, list | tuple)
