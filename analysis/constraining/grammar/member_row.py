"""The members of an object as one row: those that may be missing are rules that objects share.

Of `city`, which has to be there, and `days`, which need not, each after a blank but the first:

    >>> from autoparser.analysis.loading.tokens import OpaqueTokens
    >>> from autoparser.analysis.constraining.grammar.rules import Ref
    >>> table = RuleTable(OpaqueTokens())
    >>> city = RowMember("city", ("city=", Ref("text")), is_wanted=True)
    >>> days = RowMember("days", ("days=", Ref("number")), is_wanted=False)
    >>> row = MemberRow(table, separator=" ", close="]", is_ended=False)
    >>> row.node([city, days]).items
    (LiteralNode(text='city='), Ref(name='text'), Ref(name='days'), LiteralNode(text=']'))
    >>> table.named["days"].options[1].items
    (LiteralNode(text=' days='), Ref(name='number'))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .paths import Path, joined, without
from .rules import NOTHING, LiteralNode, Node, Prose, SequenceNode, choice, sequence
from .table import RuleTable


@dataclass(frozen=True, slots=True)
class RowMember:
    """A member at its place in the row."""

    name: str
    path: Path
    """The text before its value, and the rule from there."""
    is_wanted: bool
    """Whether it has to be there."""


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

    def node(self, members: Sequence[RowMember], others: Node = NOTHING) -> Node:
        """Return the row; `others` are the members with names that are made up.

        Where the close does not begin with a separator, one stands before each member that comes
        after the first one that has to be there.
        """
        row: list[Node] = []
        around = ("", self.separator)
        for member in members:
            is_first = member.is_wanted and not self.is_ended and around[1]
            row.append(self._member(member, *(("", "") if is_first else around)))
            around = (self.separator, "") if is_first else around
        return sequence(*row, others, LiteralNode(self.close))

    def _member(self, member: RowMember, before: str, behind: str) -> Node:
        if member.is_wanted and not self.opening:
            return self.entry(member.path, before, behind)
        key = (member.path, member.is_wanted, before, behind, self.opening)
        return self.table.rule(key, member.name, partial(self._rule, member, before, behind))

    def _rule(self, member: RowMember, before: str, behind: str) -> Node:
        entry = self.entry(member.path, before, behind)
        return entry if member.is_wanted else choice(NOTHING, entry)

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
