"""What a template's syntax tree suggests to probe with. It suggests; renders decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jinja2 import nodes

from autoparser.analysis.conversation import Json


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Names and constants worth trying on this template."""

    variables: tuple[str, ...] = ()
    """Variables that the template reads and a caller may set."""
    values: dict[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    """Constants that a variable is compared with."""
    names: frozenset[str] = frozenset()
    """Every variable that the template reads."""
    fields: tuple[str, ...] = ()
    """Names of attributes and items that the template reads from something."""
    constants: tuple[str, ...] = ()
    """Text constants in expressions."""


def suggest(tree: nodes.Template) -> Suggestions:
    """Collect the suggestions of one template, each in the order of the source."""
    loaded: dict[str, None] = {}
    stored: set[str] = set()
    questioned: set[str] = set()
    values: dict[str, dict[str, Json]] = {}
    fields: dict[str, None] = {}
    constants: dict[str, None] = {}
    for node in _walk(tree):
        if isinstance(node, nodes.Name):
            if node.ctx == "load":
                loaded[node.name] = None
            else:
                stored.add(node.name)
        elif isinstance(node, nodes.Const):
            if isinstance(node.value, str):
                constants[node.value] = None
        elif isinstance(node, nodes.Getattr):
            fields[node.attr] = None
        elif isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                fields[node.arg.value] = None
        elif isinstance(node, nodes.Test):
            if isinstance(node.node, nodes.Name) and node.name in ("defined", "undefined"):
                questioned.add(node.node.name)
        elif isinstance(node, nodes.Filter):
            if isinstance(node.node, nodes.Name) and node.name in ("default", "d"):
                questioned.add(node.node.name)
        elif isinstance(node, nodes.Compare):
            _compared(node, values)
        elif isinstance(node, nodes.Macro):
            stored.add(node.name)
    for constant in constants:
        # A field may be asked for by `'name' in message` or through a loop over names.
        if constant.isidentifier():
            fields.setdefault(constant)
    variables = tuple(name for name in loaded if name not in stored or name in questioned)
    return Suggestions(
        variables=variables,
        names=frozenset(loaded),
        values={name: tuple(seen.values()) for name, seen in values.items()},
        fields=tuple(fields),
        constants=tuple(constants),
    )


def _compared(node: nodes.Compare, values: dict[str, dict[str, Json]]) -> None:
    sides = [node.expr, *(operand.expr for operand in node.ops)]
    names = [side.name for side in sides if isinstance(side, nodes.Name)]
    found: list[Json] = []
    for side in sides:
        items = side.items if isinstance(side, nodes.List | nodes.Tuple) else [side]
        found += [
            item.value
            for item in items
            if isinstance(item, nodes.Const) and isinstance(item.value, str | int | float)
        ]
    for name in names:
        for value in found:
            values.setdefault(name, {})[repr(value)] = value


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(list(current.iter_child_nodes())))
