"""The members of an object as one row: those that may be missing are rules that objects share.

Of `city`, which has to be there, and `days`, which need not, each after a blank but the first:

    >>> from autoparser.analysis.loading.tokens import OpaqueTokens
    >>> table = RuleTable(OpaqueTokens())
    >>> members = {"city": ("city=", Ref("text")), "days": ("days=", Ref("number"))}
    >>> row = MemberRow(table, separator=" ", close="]", is_ended=False)
    >>> row.node(members.items(), {"city"}).items
    (LiteralNode(text='city='), Ref(name='text'), Ref(name='days'), LiteralNode(text=']'))
    >>> table.named["days"].options[1].items
    (LiteralNode(text=' days='), Ref(name='number'))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass

from .paths import Path, joined, without
from .rules import NOTHING, LiteralNode, Node, Prose, Ref, SequenceNode, choice, sequence
from .table import RuleTable


@dataclass(frozen=True, slots=True)
class MemberRow:
    """Makes the row of members of which at least one has to be there."""

    table: RuleTable
    separator: str
    close: str
    """What stands after the last member, and the separator after it where each has one."""
    is_ended: bool
    """Whether each member has a separator after it, the last one, too."""
    opening: str = ""
    """What each member begins with, where it is read before any name is told from others."""

    def node(
        self, members: Iterable[tuple[str, Path]], wanted: AbstractSet[str], others: Node = NOTHING
    ) -> Node:
        """Return the row of members by their names, of which those `wanted` have to be there.

        A member is the text before its value, and the rule from there; `others` are those with
        names that are made up. Where the close does not begin with a separator, one stands before
        each member that comes after the first one that has to be there.
        """
        row: list[Node] = []
        before, behind = "", self.separator
        for name, path in members:
            if name not in wanted:
                row.append(self._rule(name, path, before, behind, is_wanted=False))
                continue
            if behind and not self.is_ended:
                row.append(self._wanted(name, path, before, ""))
                before, behind = self.separator, ""
            else:
                row.append(self._wanted(name, path, before, behind))
        return sequence(*row, others, LiteralNode(self.close))

    def _wanted(self, name: str, path: Path, before: str, behind: str) -> Node:
        if self.opening:
            return self._rule(name, path, before, behind, is_wanted=True)
        return self.entry(path, before, behind)

    def _rule(self, name: str, path: Path, before: str, behind: str, *, is_wanted: bool) -> Ref:
        def make() -> Node:
            entry = self.entry(path, before, behind)
            return entry if is_wanted else choice(NOTHING, entry)

        return self.table.rule((path, is_wanted, before, behind, self.opening), name, make)

    def entry(self, path: Path, before: str, behind: str) -> Node:
        """Return a member between separators; what all of them begin with is a text of its own."""
        items = joined(before, *path, behind)
        if not self.opening:
            return as_node(items)
        opening = before + self.opening
        return SequenceNode((LiteralNode(opening), *nodes_of(without(items, opening))))


def nodes_of(path: Path) -> Iterator[Node]:
    """Return the nodes of a path that holds no free text."""
    for item in path:
        if isinstance(item, str):
            yield LiteralNode(item)
        elif not isinstance(item, Prose):
            yield item


def as_node(path: Path) -> Node:
    """Return the node of a path that holds no free text."""
    return sequence(*nodes_of(path))
