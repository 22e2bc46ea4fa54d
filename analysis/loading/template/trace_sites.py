"""The places of a template at which a trace looks, in the order in which they stand in its text.

Jinja's syntax tree has them with their lines, its lexer with their columns. Both are walked in
the same order and matched one to one; where they do not agree a place is its line alone. In

    {% for m in messages if m.role %}{{ m.text if m.text else '-' }}{% endfor %}

has the keywords `for`, `if`, `if`: a loop, its filter, and a test inside what is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jinja2 import nodes

from .render_trace import StepKind, TemplateSite
from .token_places import TemplateToken, written_places

__all__ = ["FoundSite", "found_sites", "placed_sites"]

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class FoundSite:
    """A place as the syntax tree has it."""

    kind: StepKind
    keyword: str
    """By which it begins in the text; empty for what is written."""
    node: nodes.Node
    """What is written, the test, the loop, or the assignment."""
    within: int | None
    """The number of the test or the loop around it."""


def found_sites(tree: nodes.Template) -> tuple[FoundSite, ...]:
    """Return the places of a tree, which is not changed."""
    found: list[FoundSite] = []
    _find(tree, None, found)
    return tuple(found)


def _find(node: nodes.Node, within: int | None, found: list[FoundSite]) -> None:
    match node:
        case nodes.If():
            _find_if(node, within, found)
        case nodes.For():
            _find_loop(node, within, found)
        case nodes.CondExpr():
            _find(node.expr1, within, found)
            found.append(FoundSite(StepKind.TEST, "if", node.test, within))
            _find_all([node.test, *([node.expr2] if node.expr2 else [])], within, found)
        case nodes.Output():
            for child in node.nodes:
                found.append(FoundSite(StepKind.WRITE, "", child, within))
                _find(child, within, found)
        case nodes.Assign() | nodes.AssignBlock():
            found.append(FoundSite(StepKind.SET, "set", node, within))
            _find_all(node.iter_child_nodes(), within, found)
        case nodes.FilterBlock():
            _find_all([node.filter, *node.body], within, found)
        case nodes.Macro():
            # Who calls it decides whether it runs.
            _find_all(node.iter_child_nodes(), None, found)
        case _:
            _find_all(node.iter_child_nodes(), within, found)


def _find_loop(node: nodes.For, within: int | None, found: list[FoundSite]) -> None:
    found.append(FoundSite(StepKind.LOOP, "for", node, within))
    loop = len(found) - 1
    _find(node.iter, within, found)
    if node.test is not None:
        # It may have been asked about the next item already: a pass says enough.
        found.append(FoundSite(StepKind.TEST, "if", node.test, loop))
        _find(node.test, loop, found)
    _find_all([*node.body, *node.else_], loop, found)


def _find_if(node: nodes.If, within: int | None, found: list[FoundSite]) -> None:
    around = within
    for each in (node, *node.elif_):
        found.append(FoundSite(StepKind.TEST, "if", each.test, around))
        around = len(found) - 1
        _find(each.test, around, found)
        _find_all(each.body, around, found)
    _find_all(node.else_, around, found)


def _find_all(several: Iterable[nodes.Node], within: int | None, found: list[FoundSite]) -> None:
    for each in several:
        _find(each, within, found)


def placed_sites(
    text: str, tokens: Sequence[TemplateToken], found: Sequence[FoundSite]
) -> tuple[TemplateSite, ...]:
    """Return the same places with where they stand in the text; `tokens` are those of it."""
    writes = list(written_places(tokens))
    keywords = list(_keyword_places(tokens))
    if len(writes) != sum(not each.keyword for each in found):
        writes = []
    if [keyword for keyword, _ in keywords] != [each.keyword for each in found if each.keyword]:
        keywords = []
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    left = {True: iter(writes), False: iter([place for _, place in keywords])}
    placed: list[TemplateSite] = []
    for each in found:
        place = next(left[not each.keyword], None)
        start, end = place or (0, 0)
        line = each.node.lineno if place is None else bisect_right(breaks, start - 1) + 1
        placed.append(TemplateSite(each.kind, line, start, end, each.within))
    return tuple(placed)


def _keyword_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Return each `if`, `for` and `set`, and where what it rules stands: a test, a statement."""
    shown = [token for token in tokens if token.kind != "whitespace"]
    depths = list(accumulate(_depth(token) for token in shown))
    for at, token in enumerate(shown):
        if token.kind != "name" or token.value not in {"if", "elif", "for", "set"}:
            continue
        first = shown[at - 1].kind == "block_begin"
        if not first and (token.value != "if" or shown[at - 1].value == "."):
            continue
        if token.value in {"if", "elif"}:
            end = _test_end(shown, depths, at)
            yield "if", (shown[min(at + 1, end)].start, shown[end].end)
        else:
            end = next(n for n in range(at, len(shown)) if shown[n].kind == "block_end") - 1
            yield token.value, (token.start, shown[end].end)


def _depth(token: TemplateToken) -> int:
    if token.kind != "operator":
        return 0
    return (token.value in _OPEN) - (token.value in _CLOSE)


def _test_end(shown: Sequence[TemplateToken], depths: Sequence[int], at: int) -> int:
    """Return the number of the last token of the test after this `if`."""
    for number in range(at + 1, len(shown)):
        token = shown[number]
        ends = token.kind in {"block_end", "variable_end"} or depths[number] < depths[at]
        if depths[number] == depths[at]:
            ends = ends or (token.kind == "name" and token.value in {"else", "if", "recursive"})
            ends = ends or (token.kind == "operator" and token.value in {",", ":"})
        # A dot before it makes a keyword the name of a member.
        if ends and shown[number - 1].value != ".":
            return number - 1
    return len(shown) - 1
