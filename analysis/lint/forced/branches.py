"""The changed syntax tree: conditions are computed and not asked, so that every branch runs.

What decided becomes a call of a function that takes all there is to decide between; the functions
are those of `watched.py`.
"""

from __future__ import annotations

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

EITHER = "autoparser_either"
ITEMS = "autoparser_items"
UNPACKED = "autoparser_unpacked"
SLICED = "autoparser_sliced"
LOADED = "autoparser_loaded"


class Branches(NodeTransformer):
    """Changes a tree in place."""

    def visit_If(self, node: nodes.If) -> list[nodes.Node]:  # noqa: N802 - Jinja's names
        """Compute the test, then run each side."""
        self.generic_visit(node)
        return [_computed(node.test), *node.body, *node.elif_, *node.else_]

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        other = node.expr2 or nodes.Const("", lineno=node.lineno)
        return _call(EITHER, node.expr1, other, node.test)

    def visit_And(self, node: nodes.And) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        return _call(EITHER, node.right, node.left)

    def visit_Or(self, node: nodes.Or) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        return _call(EITHER, node.left, node.right)

    def visit_Not(self, node: nodes.Not) -> nodes.Node:  # noqa: N802
        """Compute what is negated."""
        self.generic_visit(node)
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), node.node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Compute what is compared; to compare it may fail."""
        self.generic_visit(node)
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), *sides)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        """Compute what is tested."""
        self.generic_visit(node)
        rest = [*(node.args or ()), *(pair.value for pair in node.kwargs or ())]
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), node.node, *rest)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Slice only what can be sliced."""
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = [
            end or nodes.Const(None, lineno=node.lineno)
            for end in (node.arg.start, node.arg.stop, node.arg.step)
        ]
        return _call(SLICED, node.node, *ends)

    def visit_For(self, node: nodes.For) -> list[nodes.Node]:  # noqa: N802
        """Go round at least once, whatever the filter says, and run the other side, too."""
        self.generic_visit(node)
        node.iter = _call(ITEMS, node.iter, _width(node.target))
        if node.test is not None:
            node.body = [_computed(node.test), *node.body]
            node.test = None
        other, node.else_ = node.else_, []
        return [node, *other]

    def visit_Assign(self, node: nodes.Assign) -> nodes.Node:  # noqa: N802
        """Unpack only what can be unpacked."""
        self.generic_visit(node)
        if isinstance(node.target, nodes.Tuple):
            node.node = _call(UNPACKED, node.node, _width(node.target))
        return node

    def visit_Macro(self, node: nodes.Macro) -> list[nodes.Node]:  # noqa: N802
        """Call it once, after where it is defined."""
        self.generic_visit(node)
        name = nodes.Name(node.name, "load", lineno=node.lineno)
        called = nodes.Call(name, [], [], None, None, lineno=node.lineno)
        return [node, nodes.Output([called], lineno=node.lineno)]

    def visit_Break(self, node: nodes.Break) -> list[nodes.Node]:  # noqa: N802
        """Go on."""
        del node
        return []

    def visit_Continue(self, node: nodes.Continue) -> list[nodes.Node]:  # noqa: N802
        """Go on."""
        del node
        return []

    def visit_Include(self, node: nodes.Include) -> nodes.Node:  # noqa: N802
        """Say what is included."""
        return _computed(_call(LOADED, node.template))

    def visit_Import(self, node: nodes.Import) -> nodes.Node:  # noqa: N802
        """Say what is imported."""
        return _computed(_call(LOADED, node.template))

    def visit_FromImport(self, node: nodes.FromImport) -> nodes.Node:  # noqa: N802
        """Say what is imported."""
        return _computed(_call(LOADED, node.template))

    def visit_Extends(self, node: nodes.Extends) -> nodes.Node:  # noqa: N802
        """Say what is extended."""
        return _computed(_call(LOADED, node.template))


def _call(function: str, *args: nodes.Node) -> nodes.Call:
    line = args[0].lineno
    name = nodes.Name(function, "load", lineno=line)
    return nodes.Call(name, [*args], [], None, None, lineno=line)


def _computed(expression: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(expression, lineno=expression.lineno)


def _width(target: nodes.Node) -> nodes.Const:
    width = len(target.items) if isinstance(target, nodes.Tuple) else 0
    return nodes.Const(width, lineno=target.lineno)
