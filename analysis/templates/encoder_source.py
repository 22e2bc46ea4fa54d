"""Collect the names and constants in the Python source of an encoder.

They suggest values and fields to try; renders decide. For example

    def encode(messages, thinking_mode):
        if thinking_mode == "chat": ...

compares `thinking_mode` with `"chat"`.

    compared_values(ast.parse(source), ["thinking_mode"])  ->  {"thinking_mode": ("chat",)}
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

Constant: TypeAlias = str | int | float | bool


def compared_values(tree: ast.AST, names: Collection[str]) -> Mapping[str, tuple[Constant, ...]]:
    """Return the constants that each of these names is compared with, or annotated by."""
    found: dict[str, dict[str, Constant]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            constants = [value for side in sides for value in _constants(side)]
            compared = [side.id for side in sides if isinstance(side, ast.Name)]
        elif isinstance(node, ast.arg) and isinstance(node.annotation, ast.Subscript):
            # `Literal` and similar types contain their values in brackets.
            constants = list(_constants(node.annotation.slice))
            compared = [node.arg]
        else:
            continue
        for name in compared:
            if name in names:
                # By `repr`: 1 and True are two values here, but one key.
                found.setdefault(name, {}).update({repr(value): value for value in constants})
    return {name: tuple(values.values()) for name, values in found.items() if values}


def _constants(node: ast.expr) -> Iterator[Constant]:
    items = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
    for item in items:
        if isinstance(item, ast.Constant) and isinstance(item.value, str | int | float):
            yield item.value


def mentioned_fields(tree: ast.AST) -> tuple[str, ...]:
    """Return the names of the members that it reads: ``m["x"]``, ``m.get("x")``, ``m.x``."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str() as name)):
                found[name] = None
            case ast.Call(
                func=ast.Attribute(attr="get"), args=[ast.Constant(value=str() as name), *_]
            ):
                found[name] = None
            case ast.Attribute(attr=name):
                found[name] = None
            case _:
                pass
    return tuple(found)


def text_constants(tree: ast.AST) -> tuple[str, ...]:
    """Return its text constants, each once."""
    return tuple(
        dict.fromkeys(
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
    )
