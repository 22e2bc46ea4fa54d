from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

LARGE = 64 * 1024
"""The maximum size of a source, in characters."""
DEEP = 9
"""The maximum number of nested blocks."""
_BLOCKS = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.With)


@rule("AP910")
def check(subject: Subject) -> Iterator[Hit]:
    """Measure the source and the nesting of its syntax tree."""
    size = len(subject.template.text)
    if size > LARGE:
        yield Hit(f"the template has {size} characters, too many to review")
    depth, line = _deepest_block(subject.template.syntax_tree)
    if depth > DEEP:
        yield Hit(f"{depth} blocks are nested here", line=line)


def _deepest_block(tree: nodes.Template) -> tuple[int, int]:
    deepest = (0, 1)
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, _BLOCKS):
            depth += 1
            deepest = max(deepest, (depth, node.lineno))
        # An `elif` is beside the first branch, not inside it.
        beside = node.elif_ if isinstance(node, nodes.If) else []
        waiting += [
            (child, depth - 1 if any(child is node for node in beside) else depth)
            for child in node.iter_child_nodes()
        ]
    return deepest
