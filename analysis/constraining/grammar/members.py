"""The members of an object: those that its schema names in their order, then others.

Where a format sorts members, others may stand before and between them, too.

Of two members, `city` must be there and `days` may; a rule is made for the members from each on,
since neither stands between texts of its own:

    >>> from autoparser.analysis.constraining.grammar.gbnf import write_gbnf
    >>> from autoparser.analysis.constraining.grammar.gbnf_table import SchemaTable
    >>> from autoparser.analysis.constraining.grammar.rules import GrammarRules
    >>> from autoparser.analysis.loading.tokens import OpaqueTokens
    >>> table = RuleTable(OpaqueTokens())
    >>> schema = {"properties": {"city": {}, "days": {}}, "required": ["city"]}
    >>> schema["additionalProperties"] = False
    >>> members = MemberRules(
    ...     table,
    ...     schema,
    ...     Container(separator=" "),
    ...     entries=lambda name, *_: [(f"{name}=1",)],
    ...     writes=lambda _: True,
    ...     close="]",
    ...     key="f",
    ... )
    >>> print(write_gbnf(GrammarRules(members.begin(), table.named), SchemaTable()).strip())
    root ::= city
    <BLANKLINE>
    # calls
    city ::= "city=1" (" " days | "]")
    days ::= "days=1]"
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Container, Order
from autoparser.analysis.core.schema import ROOT, Schema, UnheldKeywordError, is_loose, place_of

from .entry_rows import begins_as_text, key_ends, lead_of, writes_key_twice
from .member_row import MemberRow, as_node
from .paths import Path, joined, without
from .rules import NOTHING, LiteralNode, Node, Prose, Ref, choice, sequence
from .string_ways import key_path
from .table import RuleTable

Entries: TypeAlias = Callable[[str, Json, Path], list[Path]]
"""Gives the ways to write a member: its name, its schema, the key where it has no name."""

Writes: TypeAlias = Callable[[Json], bool]
"""Says whether the format writes a member of a schema at all."""


_OTHERS = "additionalProperties"


class MemberRules:
    """Makes the rules for the members of one object."""

    def __init__(
        self,
        table: RuleTable,
        schema: Schema,
        container: Container,
        entries: Entries,
        writes: Writes,
        close: str,
        key: Hashable,
    ) -> None:
        """Take an object's schema apart.

        `close` is what stands after the last member, and `key` tells the object from all others.
        What the format does not write is not a member.
        """
        self.table, self.container, self.entries = table, container, entries
        self.close, self.key = close, table.number(key)
        properties = schema.get("properties")
        self.properties = properties if isinstance(properties, dict) else {}
        wanted = schema.get("required")
        self.required = set(map(str, wanted)) if isinstance(wanted, list) else set[str]()
        named = [name for name, each in self.properties.items() if each is not False]
        unwritten = {name for name in named if not writes(self.properties[name])}
        self.impossible = bool(unwritten & self.required)
        """Whether a member has to be there that no value meets, or that the format never writes."""
        self.required -= unwritten
        is_open = not (table.names_alone and self.properties)
        self.extra = schema.get(_OTHERS, is_open)
        written = [name for name in named if name not in unwritten]
        missing = sorted(self.required - set(written))
        if missing:
            others = schema.get(_OTHERS, True)
            never = any(name in self.properties for name in missing)
            self.impossible = self.impossible or never or not writes(others)
            self.properties = {**self.properties, **dict.fromkeys(missing, others)}
        self.names = container.order.arrange([*written, *missing])
        self.more = self._takes_more(schema, writes)
        self.last = max(
            (at for at, name in enumerate(self.names) if name in self.required), default=-1
        )
        """The place of the last member that has to be there."""

    def _takes_more(self, schema: Schema, writes: Writes) -> bool:
        """Whether there may be members with names that are made up.

        Where an entry writes its name twice, no rule can say that both are the same: then they are
        as loose as the caller lets them be. Raises UnheldKeywordError where he does not.
        """
        if self.extra is False or not writes(self.extra):
            return False
        if _OTHERS not in schema and self.properties and begins_as_text(self.container):
            return False
        if not writes_key_twice(self.container) or is_loose(schema, _OTHERS):
            return True
        if _OTHERS in schema:
            raise UnheldKeywordError(
                f"{_OTHERS} cannot be held to where a member's name stands twice: a name that is"
                " made up could be closed by another one",
                pointer=place_of(schema, ROOT),
                keyword=_OTHERS,
                hint="set it to false",
            )
        return False

    def begin(self, first: int = 0) -> Ref:
        """Return the rule for all members from one on; at least one of them is written."""
        return self.table.rule((self.key, first), self._hint(first), lambda: self._begun(first))

    def _begun(self, first: int) -> Node:
        # Only here, where the rule is known: a member may hold an object of the same kind.
        straight = self._straight
        if straight is not None and any(name in self.required for name in self.names[first:]):
            return self._in_row(straight, first)
        for at in range(len(self.names) - 1, first, -1):
            # The last ones first: what an object of many members refers to is there already.
            self._state(at)
        return self._from(first)

    def _state(self, at: int) -> Ref:
        """Return the rule for the members from one on; at least one of them is written."""
        return self.table.rule((self.key, at), self._hint(at), lambda: self._from(at))

    def _hint(self, at: int) -> str:
        return self.names[at] if at < len(self.names) else "member"

    def _from(self, at: int) -> Node:
        straight = self._straight
        if straight is None:
            return self._branched(at)
        if not self._opening:
            return self._chained(straight, at)
        return sequence(LiteralNode(self._opening), self._opened(straight, at))

    def _in_row(self, straight: list[Path], first: int) -> Node:
        """Make the rule for the members from one on, of which at least one has to be there."""
        separator, close = self._parting
        row = MemberRow(
            self.table, separator, close, is_ended=close != self.close, opening=self._opening
        )
        members = zip(self.names[first:], straight[first:], strict=False)
        others = self._others(row, straight[-1]) if self.more else NOTHING
        return row.node(members, self.required, others)

    def _others(self, row: MemberRow, path: Path) -> Ref:
        """Return the rule for members with names that are made up, after one that is there."""

        def make() -> Node:
            separator = self.container.separator
            around = ("", separator) if row.is_ended else (separator, "")
            return choice(NOTHING, sequence(row.entry(path, *around), self._others(row, path)))

        return self.table.rule((self.key, "others"), "others", make)

    def _opened(self, members: list[Path], at: int) -> Ref:
        """Return the rule for the members from one on, after the text that opens each of them."""
        return self.table.rule(
            (self.key, at, "opened"), self._hint(at), lambda: self._chained(members, at)
        )

    @cached_property
    def _entries(self) -> list[list[Path]]:
        found = [self.entries(name, self.properties[name], ()) for name in self.names]
        if self.more:
            declared, ends = list(self.properties), key_ends(self.container)
            key = key_path(self.container.key, declared, ends)
            found.append(self.entries("", self.extra, key))
        return found

    @cached_property
    def _parting(self) -> tuple[str, str]:
        """The separator, and the close without it where it begins with it."""
        separator = self.container.separator
        shared = self.table.brancher.shared([separator, self.close])
        return separator, self.close[len(separator) :] if shared == separator else self.close

    @property
    def _mixed(self) -> bool:
        """Whether a name that is made up may stand before one that the schema names."""
        return self.more and self.container.order is not Order.GIVEN

    @cached_property
    def _straight(self) -> list[Path] | None:
        """The members, where each is a text and a rule, and the texts part without being cut."""
        opening = self._opening
        if self._mixed or not self.close:
            return None
        paths: list[Path] = []
        for entry in self._entries:
            if len(entry) != 1 or not entry[0] or not isinstance(entry[0][-1], Ref):
                return None
            paths += entry
        separator, behind = self._parting
        if separator and behind == self.close and self.close[: len(separator)] in separator:
            return None
        texts: list[str] = []
        for path in paths[: len(self.names)]:
            head = path[0]
            if not isinstance(head, str):
                return None
            if opening and not self.table.brancher.begins(head, opening):
                return None
            texts.append(head[len(opening) :])
        if self.more and (not opening or _clash([opening, behind])):
            return None
        if _clash(texts if self.more else [*texts, behind]):
            return None
        return paths

    @cached_property
    def _opening(self) -> str:
        """The text before a key that is made up: it is read before any key is told from it."""
        head = self._entries[-1][0][:1] if self.more and self._entries[-1] else ()
        return head[0] if head and isinstance(head[0], str) else ""

    def _chained(self, members: list[Path], at: int) -> Node:
        """Make the rule for the members from one on: this one, or a later one."""
        separator, close = self._parting
        named = at < len(self.names)
        following = at + 1 if named else at
        ends: list[Node] = [LiteralNode(close)] if self.may_end(following) else []
        member = as_node(without(members[at], self._opening))
        if following == len(members):
            return sequence(member, LiteralNode(self.close))
        later = self._state(following)
        if close == self.close:
            behind = choice(sequence(LiteralNode(separator), later), *ends)
            one = sequence(member, behind)
        else:
            one = sequence(member, LiteralNode(separator), choice(later, *ends))
        if not named or self.names[at] in self.required:
            return one
        return choice(one, self._opened(members, following) if self._opening else later)

    def _branched(self, at: int) -> Node:
        """Make the rule for the members from one on, parted where their texts differ."""
        if not self._heads_differ:
            return self.table.brancher.branch(self._paths(at))
        if not self._mixed or at == len(self.names):
            return self._one_or_later(at)
        # Names that are made up may stand before all that are named, and they go on from here.
        others = self.table.brancher.branch(
            self._step_paths([(each, at) for each in self._entries[-1]])
        )
        return choice(self._named_state(at), others)

    def _named_state(self, at: int) -> Node:
        """Return the rule for the members from one on, of which one that is named comes first."""
        return self.table.rule(
            (self.key, at, "named"), self._hint(at), lambda: self._one_or_later(at)
        )

    def _one_or_later(self, at: int) -> Node:
        """Make the rule for this member and what follows, or a later one: each is written once."""
        following = min(at + 1, len(self.names))
        steps = [(entry, following) for entry in self._entries[at]]
        one = self.table.brancher.branch(self._step_paths(steps))
        named = at < len(self.names)
        if not named or self.names[at] in self.required or not self.goes_on(at + 1):
            return one
        if self._mixed:
            return choice(one, self._named_state(at + 1)) if at + 1 < len(self.names) else one
        return choice(one, self._state(at + 1))

    @cached_property
    def _heads_differ(self) -> bool:
        """Whether no member begins as another one does, but for names that are made up."""
        if not all(self._entries) or self._lead:
            return False
        texts: list[str] = []
        for entry in self._entries[: len(self.names)]:
            heads = [path[0] for path in entry if path and isinstance(path[0], str)]
            if len(heads) < len(entry):
                return False
            texts.append(self.table.brancher.shared(heads))
        if self.more and not self._mixed:
            return False
        return all(texts) and not _clash(texts)

    def _paths(self, at: int) -> list[Path]:
        return self._step_paths(self.steps(at))

    def _step_paths(self, steps: Iterable[tuple[Path, int]]) -> list[Path]:
        paths: list[Path] = []
        for entry, following in steps:
            if self.goes_on(following):
                lead = self.lead(entry)
                later = self.led(following) if lead else self._state(following)
                paths.append(joined(*entry, self.container.separator, lead, later))
            if self.may_end(following):
                paths.append(joined(*entry, self.close))
        return paths

    def lead(self, entry: Path) -> str:
        """Return what the next member begins with, where it is needed to end an entry's text."""
        return self._lead if entry and isinstance(entry[-1], Prose) else ""

    @cached_property
    def _lead(self) -> str:
        lead = lead_of(self.container)
        heads = [way[0] for entry in self._entries for way in entry]
        begins = self.table.brancher.begins
        return lead if all(isinstance(head, str) and begins(head, lead) for head in heads) else ""

    def led(self, at: int) -> Ref:
        """Return the rule for the members from one on, after what each of them begins with."""

        def make() -> Node:
            paths = [without(path, self._lead) for path in self._paths(at)]
            return self.table.brancher.branch(paths)

        return self.table.rule((self.key, at, "led"), self._hint(at), make)

    def steps(self, at: int) -> Iterator[tuple[Path, int]]:
        """Return the ways to write the next member from one on, and the place after each."""
        for place in range(at, len(self._entries)):
            for entry in self._entries[place]:
                yield entry, min(place + 1, len(self.names))
            if place < len(self.names) and self.names[place] in self.required:
                break
        if self._mixed and at < len(self.names):
            for entry in self._entries[-1]:
                yield entry, at

    def goes_on(self, at: int) -> bool:
        """Whether another member may follow at a place."""
        return at < len(self._entries)

    def may_end(self, at: int) -> bool:
        """Whether no member has to follow at a place."""
        return at > self.last


def _clash(texts: Sequence[str]) -> bool:
    """Whether one text begins another."""
    ordered = sorted(texts)
    return any(map(str.startswith, ordered[1:], ordered))
