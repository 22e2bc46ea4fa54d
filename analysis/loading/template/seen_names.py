"""Which parts of an expression a trace tells the values of, and how a template spells them."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

__all__ = ["seen_parts", "spelled"]


def seen_parts(node: nodes.Node) -> Iterator[tuple[nodes.Expr, str]]:
    """Return the names in an expression with what is asked of them, and what is compared.

    For example `m.role`, `ms|length` and `ms` of `m.role == 'a' and ms|length > 2`. What is called
    is not among them, but what it is called on.
    """
    match node:
        case nodes.Name(ctx="load"):
            yield node, node.name
        case nodes.Getattr() | nodes.Getitem() if _is_chain(node):
            yield node, spelled(node)
            if isinstance(node, nodes.Getitem):
                yield from seen_parts(node.arg)
        case nodes.Call(node=nodes.Getattr(node=owner)):
            yield from seen_parts(owner)
            yield from _of_arguments(node)
        case nodes.Call(node=nodes.Name()):
            yield from _of_arguments(node)
        case nodes.Compare():
            for side in (node.expr, *(operand.expr for operand in node.ops)):
                if isinstance(side, nodes.Call | nodes.Filter):
                    yield side, spelled(side)
                yield from seen_parts(side)
        case _:
            for child in node.iter_child_nodes():
                yield from seen_parts(child)


def _of_arguments(call: nodes.Call) -> Iterator[tuple[nodes.Expr, str]]:
    for child in call.iter_child_nodes(exclude=("node",)):
        yield from seen_parts(child)


def _is_chain(node: nodes.Node) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def spelled(node: nodes.Node | None) -> str:
    """Return an expression as a template could spell it, `…` for what would be long."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr():
            return f"{spelled(node.node)}.{node.attr}"
        case nodes.Getitem():
            return f"{spelled(node.node)}[{spelled(node.arg)}]"
        case nodes.Slice():
            ends = (node.start, node.stop)
            return ":".join("" if end is None else spelled(end) for end in ends)
        case nodes.Neg():
            return f"-{spelled(node.node)}"
        case nodes.Add() | nodes.Sub():
            return f"{spelled(node.left)} {node.operator} {spelled(node.right)}"
        case nodes.Filter():
            return f"{spelled(node.node)}|{node.name}{'(…)' if node.args else ''}"
        case nodes.Call():
            return f"{spelled(node.node)}({'…' if node.args or node.kwargs else ''})"
        case _:
            return "…"
