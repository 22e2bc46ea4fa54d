"""Write the members of an object: those that its schema names in their order, then others.

`MemberRules` makes the rules for the members of one object, from each place on. Where one is
required, every member is a text and a rule, and the texts part uncut, `MemberRow` writes all as one
row. The functions between them describe one entry: the text around its value, and its close.

Where a format sorts members, others may stand before and between them, too.

Of two members, `city` is required and `days` is optional; a rule is made for the members from each
on, since neither stands between texts of its own:

    >>> from autoparser.analysis.grammar.gbnf_writer import write_gbnf
    >>> from autoparser.analysis.grammar.gbnf_writer import SchemaTable
    >>> from autoparser.analysis.grammar.grammar_rules import GrammarRules
    >>> from autoparser.analysis.sources.token_bytes import OpaqueTokens
    >>> table = RuleTable(OpaqueTokens())
    >>> schema = {"properties": {"city": {}, "days": {}}, "required": ["city"]}
    >>> schema["additionalProperties"] = False
    >>> members = MemberRules(
    ...     table,
    ...     schema,
    ...     ContainerNotation(separator=" "),
    ...     entries=lambda name, *_: [(f"{name}=1",)],
    ...     writes=lambda _: True,
    ...     close="]",
    ...     key="f",
    ... )
    >>> print(write_gbnf(GrammarRules(members.begin(), table.rules_by_name), SchemaTable()).strip())
    root ::= city
    <BLANKLINE>
    # calls
    city ::= "city=1" (" " days | "]")
    days ::= "days=1]"

As one row, optional members are rules that objects share. `city` is required and `days` is not,
and a blank precedes each but the first:

    >>> from autoparser.analysis.sources.token_bytes import OpaqueTokens
    >>> table = RuleTable(OpaqueTokens())
    >>> text, number = RuleReference("text"), RuleReference("number")
    >>> members = {"city": ("city=", text), "days": ("days=", number)}
    >>> row = MemberRow(table, separator=" ", close="]", is_ended=False)
    >>> written = row.node(members.items(), {"city"}).items
    >>> print(*written[:2])
    LiteralNode(text='city=') RuleReference(name='text')
    >>> print(*written[2:])
    RuleReference(name='days') LiteralNode(text=']')
    >>> table.rules_by_name["days"].options[1].items
    (LiteralNode(text=' days='), RuleReference(name='number'))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set as AbstractSet
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_document import (
    ROOT,
    error_of_outer,
    schema_place,
)
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, raise_refused
from autoparser.analysis.core.schema_keywords import Schema, schema_map
from autoparser.analysis.core.schema_loosened import is_loose

from .grammar_rules import (
    NOTHING,
    FreeProse,
    LiteralNode,
    Node,
    RuleReference,
    SequenceNode,
    choice_node,
    sequence_node,
)
from .rule_paths import Item, Path, join_path, join_paths, without_prefix
from .rule_table import RuleTable
from .string_ways import key_path


class MemberRow(Struct, frozen=True):
    """Makes the row of members of which at least one is required."""

    table: RuleTable
    """The table that gets the rules of optional members, e.g. a `RuleTable`."""
    separator: str
    """The text between members, e.g. ", "."""
    close: str
    r"""The text after the last member, and after its separator if each member has one, e.g.
    "</function>\n</tool_call>"."""
    is_ended: bool
    r"""Whether each member has a separator after it, including the last one, e.g. True if each line
    of arguments ends with "\n"."""
    opening: str = ""
    """The beginning of every member, e.g. "<parameter=", if a reader takes it before it compares
    names."""

    def node(
        self, members: Iterable[tuple[str, Path]], wanted: AbstractSet[str], others: Node = NOTHING
    ) -> Node:
        """Return the row of members by their names; those in `wanted` are required.

        A member is the text before its value, and the rule from there; `others` are those with
        made-up names. Where the close does not begin with a separator, one stands before each
        member after the first required one.
        """
        row: list[Node] = []
        before, behind = "", self.separator
        for name, path in members:
            if name not in wanted:
                row.append(self._rule(name, path, before, behind, is_wanted=False))
                continue
            # Up to the first required member, each optional one brings the separator after it.
            if behind and not self.is_ended:
                row.append(self._wanted_entry(name, path, before, ""))
                before, behind = self.separator, ""
            else:
                row.append(self._wanted_entry(name, path, before, behind))
        return sequence_node(*row, others, LiteralNode(self.close))

    def _wanted_entry(self, name: str, path: Path, before: str, behind: str) -> Node:
        if self.opening:
            return self._rule(name, path, before, behind, is_wanted=True)
        return self.entry(path, before, behind)

    def _rule(
        self, name: str, path: Path, before: str, behind: str, *, is_wanted: bool
    ) -> RuleReference:
        def make() -> Node:
            entry = self.entry(path, before, behind)
            return entry if is_wanted else choice_node(NOTHING, entry)

        return self.table.rule((path, is_wanted, before, behind, self.opening), name, make)

    def entry(self, path: Path, before: str, behind: str) -> Node:
        """Return a member between separators; the common beginning is a text of its own."""
        items = join_path(before, *path, behind)
        if not self.opening:
            return as_node(items)
        opening = before + self.opening
        return SequenceNode((LiteralNode(opening), *name_nodes(without_prefix(items, opening))))


def name_nodes(path: Path) -> list[Node]:
    """Return the nodes of a path without free text."""
    return [
        LiteralNode(item) if isinstance(item, str) else item
        for item in path
        if not isinstance(item, FreeProse)
    ]


def as_node(path: Path) -> Node:
    """Return a path without free text as one node."""
    return sequence_node(*name_nodes(path))


# The row of an entry: the texts around a value, and its close.


def fill_row(row: Row, key: Path, value: Path) -> list[Item]:
    """Put a key and a value into a row."""
    items: list[Item] = []
    for piece in row:
        if piece is RowSlot.KEY:
            items += key
        elif piece is RowSlot.VALUE:
            items += value
        else:
            items.append(str(piece))
    return items


def closed_alike(
    rows: Sequence[Row], shared: Callable[[Sequence[str]], str], behind: str = ""
) -> Row | None:
    """Return the pieces that rows begin with, if a text of its own closes the value of each.

    So does the text `behind` every entry. One row begins with all before its value; of others the
    last piece is the text up to where they part. Return None if a value is not closed so, or if the
    rows do not part in a text.
    """
    heads: list[Row] = []
    for row in rows:
        at = row.index(RowSlot.VALUE) if RowSlot.VALUE in row else len(row)
        if not behind and not _is_closed(row[at + 1 :]):
            return None
        heads.append(row[:at])
    if len(heads) < 2:  # noqa: PLR2004 - nothing parts from one
        return heads[0] if heads else None
    lasts = [piece for head in heads for piece in head[-1:] if not isinstance(piece, RowSlot)]
    if len(lasts) < len(heads) or len({head[:-1] for head in heads}) > 1:
        return None
    text = shared(lasts)
    return (*heads[0][:-1], text) if text and text not in lasts else None


def _is_closed(tail: Row) -> bool:
    """Return whether the text after a value always ends it: one text, and not a single sign."""
    return len(tail) == 1 and not isinstance(tail[0], RowSlot) and len(tail[0].strip()) > 1


def writes_key_twice(container: ContainerNotation) -> bool:
    """Return whether a member's name is repeated in its close."""
    return any(row.count(RowSlot.KEY) > 1 for row in container.rows)


def begins_as_text(container: ContainerNotation) -> bool:
    """Return whether only blanks precede a key, so that the text of a value may go on like one.

    A reader then takes a declared name for the next entry, and any word if others are requested.
    """
    begins = any(row[0] is RowSlot.KEY for row in container.rows) and not container.key.open
    return begins and not container.separator.strip()


def key_ends(container: ContainerNotation) -> str:
    """Return the characters that may end a key: the first of each text that follows one.

    A blank is one of them if its reader looks for a word (`begins_as_text`).
    """
    found = {" "} if begins_as_text(container) else set[str]()
    for row in container.rows:
        for piece, following in zip(row, (*row[1:], ""), strict=True):
            if piece is RowSlot.KEY and not isinstance(following, RowSlot):
                found.add(f"{container.key.close}{following}"[:1])
    return "".join(sorted(found))


def kinds_told(container: ContainerNotation, row: Row) -> frozenset[JsonType] | None:
    """Return the types whose values are written in a row, if there are several rows.

    Return None if the row does not depend on the type.
    """
    rows = {kind: container.row(kind) for kind in JsonType}
    if len({known for known in rows.values() if known is not None}) < 2:  # noqa: PLR2004 - one row
        return None
    return frozenset(kind for kind, known in rows.items() if known == row)


def entry_closes(row: Row, container: ContainerNotation, outer: ValueNotation) -> list[str]:
    """Return the texts that end a raw string of an entry: its close, the beginning of the next."""
    text = (container.values or outer).string
    tail = row[row.index(RowSlot.VALUE) + 1 :] if RowSlot.VALUE in row else ()
    after = "" if not tail or isinstance(tail[0], RowSlot) else tail[0]
    if text.open:
        follows = after.strip() or container.separator.strip() or container.close.strip()
        # A quote may stand in a text, but not a quote with this behind it.
        return [text.close + follows]
    openings = dict.fromkeys([entry_opening(row), *map(entry_opening, container.rows)])
    return [after.strip() or container.separator.strip(), *openings]


def declared_entries(container: ContainerNotation, schema: Schema) -> Iterator[str]:
    r"""Return the beginnings of entries of declared names that end a raw text, if only they do.

    In `a := 1\nb := 2` that is `\nb :=`, where a tool declares `b`.
    """
    for lead in container.entry_leads:
        yield from (
            f"{lead}{head}" for head in container.key_heads(schema_map(schema, "properties"))
        )


def entry_lead(container: ContainerNotation) -> str:
    r"""Return the beginning of every entry, if nothing else tells it from a bare text before it.

    In `@arg a\nx\n@arg b\ny` a line break ends no text: one in a text looks alike.
    """
    if container.separator.strip():
        return ""
    leads = {str(row[0]) if entry_opening(row) else "" for row in container.rows}
    return leads.pop() if len(leads) == 1 else ""


def entry_opening(row: Row) -> str:
    """Return the text that an entry begins with; empty if it may as well stand in a text."""
    opening = "" if isinstance(row[0], RowSlot) else row[0].strip()
    return opening if len(opening) > 2 else ""  # noqa: PLR2004 - a bracket may stand in a text


Entries: TypeAlias = Callable[[str, Json, Path, str], list[Path]]
"""Returns the ways to write a member: its name, its schema, the key if it has no name, and the text
behind it then."""

Writes: TypeAlias = Callable[[Json], bool]
"""Returns whether the format writes a member of a schema at all."""


_OTHERS = "additionalProperties"
_MANY_REFUSED = 100
"""Errors of one member after which no other is looked at: references may multiply them."""


class MemberRules:
    """Makes the rules for the members of one object."""

    def __init__(
        self,
        table: RuleTable,
        schema: Schema,
        container: ContainerNotation,
        entries: Entries,
        writes: Writes,
        close: str,
        key: Hashable,
    ) -> None:
        """Read an object's schema.

        `close` is the text after the last member, and `key` tells the object from all others. A
        member that the format does not write is left out.
        """
        self.table, self.container, self.entries = table, container, entries
        self.schema = schema
        self.close, self.key = close, table.number(key)
        properties = schema.get("properties")
        self.properties = properties if isinstance(properties, dict) else {}
        wanted = schema.get("required")
        self.required = set(map(str, wanted)) if isinstance(wanted, list) else set[str]()
        # A member with the schema false has no value.
        named = [name for name, member in self.properties.items() if member is not False]
        unwritten = {name for name in named if not writes(self.properties[name])}
        self.impossible = bool(unwritten & self.required)
        """Whether a required member has no value, or is never written by the format."""
        self.required -= unwritten
        is_open = not (table.names_alone and self.properties)
        self.extra = schema.get(_OTHERS, is_open)
        written = [name for name in named if name not in unwritten]
        # JSON Schema may require a name that `properties` does not list.
        missing = sorted(self.required - set(written))
        if missing:
            others = schema.get(_OTHERS, True)
            # A name that is required and declared as false.
            never = any(name in self.properties for name in missing)
            self.impossible = self.impossible or never or not writes(others)
            self.properties = {**self.properties, **dict.fromkeys(missing, others)}
        self.names = container.order.arrange([*written, *missing])
        self.more = self._takes_more(schema, writes)
        self.last = max(
            (at for at, name in enumerate(self.names) if name in self.required), default=-1
        )
        """The place of the last required member."""

    def _takes_more(self, schema: Schema, writes: Writes) -> bool:
        """Return whether there may be members with made-up names.

        Where an entry writes its name twice, no rule can say that both are the same: then they are
        as loose as the caller allows. Raises UnheldKeywordError if it does not.
        """
        if self.extra is False or not writes(self.extra):
            return False
        # A schema that is silent about others is not worth a text that reads as an entry.
        if _OTHERS not in schema and self.properties and begins_as_text(self.container):
            return False
        if not writes_key_twice(self.container) or is_loose(schema, _OTHERS):
            return True
        if _OTHERS in schema:
            raise UnheldKeywordError(
                f"{_OTHERS} cannot be enforced if a member's name occurs twice: an invented name"
                " could be closed by another one",
                pointer=schema_place(schema, ROOT),
                keyword=_OTHERS,
                hint="set it to false",
            )
        return False

    def begin(self, first: int = 0) -> RuleReference:
        """Return the rule for all members from one on; at least one of them is written."""
        return self.table.rule((self.key, first), self._hint(first), lambda: self._node_from(first))

    def _node_from(self, first: int) -> Node:
        # Computed only here, inside the rule: a member may contain an object of the same kind.
        straight = self._straight
        if straight is not None and any(name in self.required for name in self.names[first:]):
            return self._in_row(straight, first)
        for at in range(len(self.names) - 1, first, -1):
            # The last ones first, so that the references in an object of many members are resolved.
            self._state(at)
        return self._from(first)

    def _state(self, at: int) -> RuleReference:
        """Return the rule for the members from one on; at least one of them is written."""
        return self.table.rule((self.key, at), self._hint(at), lambda: self._from(at))

    def _hint(self, at: int) -> str:
        return self.names[at] if at < len(self.names) else "member"

    def _from(self, at: int) -> Node:
        straight = self._straight
        if straight is None:
            return self._branch_members(at)
        if not self._opening:
            return self._chain_members(straight, at)
        return sequence_node(LiteralNode(self._opening), self._opened_rule(straight, at))

    def _in_row(self, straight: list[Path], first: int) -> Node:
        """Make the rule for the members from one on; at least one is required."""
        separator, close = self._parting
        # `is_ended`: if the close begins with the separator, each member has one behind it.
        row = MemberRow(
            self.table, separator, close, is_ended=close != self.close, opening=self._opening
        )
        members = zip(self.names[first:], straight[first:], strict=False)
        others: Node = NOTHING
        if self.more:
            around = ("", separator) if row.is_ended else (separator, "")
            others = self._others(lambda: row.entry(straight[-1], *around))
        return row.node(members, self.required, others)

    def _others(self, make_one: Callable[[], Node]) -> RuleReference:
        """Return the rule for any number of members with made-up names."""

        def make() -> Node:
            return choice_node(NOTHING, sequence_node(make_one(), self._others(make_one)))

        return self.table.rule((self.key, "others"), "others", make)

    def _opened_rule(self, members: list[Path], at: int) -> RuleReference:
        """Return the rule for the members from one on, after the text that opens each of them."""
        return self.table.rule(
            (self.key, at, "opened"), self._hint(at), lambda: self._chain_members(members, at)
        )

    @cached_property
    def _entries(self) -> list[list[Path]]:
        found: list[list[Path]] = []
        refused: list[tuple[str, SchemaError]] = []
        for name in self.names:
            try:
                found.append(self.entries(name, self.properties[name], (), ""))
            except SchemaError as error:
                member = self.properties[name]
                refused.append(("", error_of_outer(error, self.schema, member, "properties", name)))
                if len(error.more) > _MANY_REFUSED:
                    break
        raise_refused(refused)
        if self.more:
            # Made-up names always come last; `_entries[-1]` relies on it.
            found.append(self._made_up())
        return found

    def _made_up(self, behind: str = "") -> list[Path]:
        """Return the ways to write a member with a made-up name, and the text behind it."""
        return self.entries("", self.extra, self._made_up_key, behind)

    @cached_property
    def _made_up_key(self) -> Path:
        return key_path(self.container.key, [*self.properties], key_ends(self.container))

    @cached_property
    def _parting(self) -> tuple[str, str]:
        """The separator, and the close without the separator if it begins with it."""
        separator = self.container.separator
        shared = self.table.brancher.shared([separator, self.close])
        return separator, self.close[len(separator) :] if shared == separator else self.close

    @property
    def _mixed(self) -> bool:
        """Whether a made-up name may come before one that the schema names."""
        return self.more and self.container.order is not MemberOrder.GIVEN

    @cached_property
    def _straight(self) -> list[Path] | None:
        """The members, if each is a text and a rule, and the texts part without being cut."""
        opening = self._opening
        if self._mixed or not self.close:
            return None
        paths: list[Path] = []
        for entry in self._entries:
            if len(entry) != 1 or not entry[0] or not isinstance(entry[0][-1], RuleReference):
                return None
            paths += entry
        separator, behind = self._parting
        # Separator and close would begin alike, so the text after a member had to be cut.
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
        # A made-up key could begin like the close.
        if self.more and (not opening or _clash([opening, behind])):
            return None
        # A member whose name begins another one could not be told from it without a cut.
        if _clash(texts if self.more else [*texts, behind]):
            return None
        return paths

    @cached_property
    def _opening(self) -> str:
        """The text before a made-up key, which a reader takes before it compares keys."""
        head = self._entries[-1][0][:1] if self.more and self._entries[-1] else ()
        return head[0] if head and isinstance(head[0], str) else ""

    def _chain_members(self, members: list[Path], at: int) -> Node:
        """Make the rule for the members from one on: this one, or a later one."""
        separator, close = self._parting
        named = at < len(self.names)
        following = at + 1 if named else at
        ends: list[Node] = [LiteralNode(close)] if self.may_end(following) else []
        member = as_node(without_prefix(members[at], self._opening))
        if following == len(members):
            return sequence_node(member, LiteralNode(self.close))
        later = self._state(following)
        # The separator stands before each next member, or behind each member.
        if close == self.close:
            behind = choice_node(sequence_node(LiteralNode(separator), later), *ends)
            one = sequence_node(member, behind)
        else:
            one = sequence_node(member, LiteralNode(separator), choice_node(later, *ends))
        if not named or self.names[at] in self.required:
            return one
        return choice_node(one, self._opened_rule(members, following) if self._opening else later)

    def _branch_members(self, at: int) -> Node:
        """Make the rule for the members from one on, branched where their texts differ."""
        if not self._heads_differ:
            return self.table.brancher.branch(self._paths(at))
        if not self._mixed:
            return self._one_or_later(at)
        # Undeclared names may precede all named members, which follow them here.
        if self._made_up_ends:
            # Any number of them is one rule, whatever follows.
            branch = self.table.brancher.branch
            begun = self._others(lambda: branch(self._made_up(self.container.separator)))
            ways = [self._named_state(at)] if at < len(self.names) else list[Node]()
            if self.may_end(at):
                ways.append(branch(self._made_up(self.close)))
            return sequence_node(begun, choice_node(*ways))
        if at == len(self.names):
            return self._one_or_later(at)
        others = self.table.brancher.branch(
            self._step_paths([(entry, at) for entry in self._entries[-1]])
        )
        return choice_node(self._named_state(at), others)

    @cached_property
    def _made_up_ends(self) -> bool:
        """Whether the end of a made-up member tells by itself whether another one follows.

        A text that one end closes must not hold the other, since both are read at once.
        """
        ends = (self.container.separator, self.close)
        if not all(ends) or _clash(ends):
            return False
        for *before, last in filter(None, self._entries[-1]):
            prose = before[-1] if before else last
            if isinstance(prose, FreeProse) and not (
                isinstance(last, str)
                and all(any(text in last + end for text in prose.exclude) for end in ends)
            ):
                return False
        return True

    def _named_state(self, at: int) -> Node:
        """Return the rule for the members from one on that begins with a named one."""
        return self.table.rule(
            (self.key, at, "named"), self._hint(at), lambda: self._one_or_later(at)
        )

    def _one_or_later(self, at: int) -> Node:
        """Make the rule for this member and the later ones, each written once."""
        following = min(at + 1, len(self.names))
        named = at < len(self.names)
        steps = [(entry, following) for entry in self._entries[at]]
        one = self.table.brancher.branch(self._step_paths(steps))
        if not named or self.names[at] in self.required or not self.goes_on(at + 1):
            return one
        if self._mixed:
            return choice_node(one, self._named_state(at + 1)) if at + 1 < len(self.names) else one
        return choice_node(one, self._state(at + 1))

    @cached_property
    def _heads_differ(self) -> bool:
        """Return whether no member begins like another one, made-up names aside."""
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
        separator, close = self.container.separator, join_path(self.close)
        goes_on: dict[int, Path] = {}
        for entry, following in steps:
            if following < len(self._entries):
                lead = self.lead(entry) if entry and isinstance(entry[-1], FreeProse) else ""
                if lead:
                    paths.append(join_path(*entry, separator, lead, self.led(following)))
                else:
                    if following not in goes_on:
                        goes_on[following] = join_path(separator, self._state(following))
                    paths.append(join_paths(entry, goes_on[following]))
            # No required member is left, so the object may end.
            if following > self.last:
                paths.append(join_paths(entry, close))
        return paths

    def lead(self, entry: Path) -> str:
        """Return the beginning of the next member, if it is needed to end an entry's text."""
        return self._lead if entry and isinstance(entry[-1], FreeProse) else ""

    @cached_property
    def _lead(self) -> str:
        lead = entry_lead(self.container)
        heads = [way[0] for entry in self._entries for way in entry]
        begins = self.table.brancher.begins
        return lead if all(isinstance(head, str) and begins(head, lead) for head in heads) else ""

    def led(self, at: int) -> RuleReference:
        """Return the rule for the members from one on, after their common beginning."""

        def make() -> Node:
            paths = [without_prefix(path, self._lead) for path in self._paths(at)]
            return self.table.brancher.branch(paths)

        return self.table.rule((self.key, at, "led"), self._hint(at), make)

    def steps(self, at: int) -> Iterator[tuple[Path, int]]:
        """Return the ways to write the next member from one on, and the place after each."""
        for place in range(at, len(self._entries)):
            for entry in self._entries[place]:
                yield entry, min(place + 1, len(self.names))
            # Members behind a required one cannot come before it.
            if place < len(self.names) and self.names[place] in self.required:
                break
        # A made-up name may come first, and leaves all named members for later.
        if self._mixed and at < len(self.names):
            for entry in self._entries[-1]:
                yield entry, at

    def goes_on(self, at: int) -> bool:
        """Return whether another member may follow at a place."""
        return at < len(self._entries)

    def may_end(self, at: int) -> bool:
        """Return whether no required member is left at a place."""
        return at > self.last


def _clash(texts: Sequence[str]) -> bool:
    """Return whether one text is a prefix of another."""
    ordered = sorted(texts)
    return any(map(str.startswith, ordered[1:], ordered))
