"""What a value of a YAML, TOML or JSON file is, in words."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["kind_of"]

_KINDS: Mapping[type[object], str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a text",
    type(None): "empty",
}


def kind_of(value: object) -> str:
    """Say what a value is, in words for a person."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")
