"""Write the values that a schema allows in a format's notation, as paths of grammar rules.

`ValueWriter.ways` is the entry: schema + notation -> the ways to write a value. Values in JSON
become JSON nodes; arrays, objects and their entries are written by the notation, members through
`MemberRules`. `MergedMembers` writes several objects at once where a reader cannot tell them apart.

In the notation of a template that writes strings raw and all else as Python does:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.sources.token_bytes import OpaqueTokens
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> notation = analyze(template).format.calls.arguments.values
    >>> def ways(schema):
    ...     writer = ValueWriter(RuleTable(OpaqueTokens()), SchemaReader(schema))
    ...     return writer.ways(schema, notation, exclude=["</parameter>"])
    >>> ways({"enum": ["Oslo", "Rio"]})
    [('Oslo',), ('Rio',)]
    >>> ways({"type": ["boolean", "null"]})
    [('True',), ('False',), ('None',)]
    >>> [[free]] = ways({"type": "string", "maxLength": 5})
    >>> free.exclude, free.shape.most
    (('</parameter>',), 5)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_document import ROOT, error_of_outer, schema_place
from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.core.schema_keywords import Schema
from autoparser.analysis.core.schema_parts import ANY, SchemaPart
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.parsing.turn_request import IdentityCache

from .bare_values import (
    BareValue,
    by_its_text,
    is_bare,
    least_of_any_text,
    told_apart,
    within_floats,
)
from .grammar_rules import (
    JsonStyle,
    JsonValue,
    Node,
    RulePart,
    RuleReference,
    references_in,
    text_mark,
)
from .member_rows import (
    MemberRules,
    closed_alike,
    declared_entries,
    entry_closes,
    entry_opening,
    fill_row,
    kinds_told,
)
from .rule_paths import Item, Path, distinct_paths, join_path, path_nodes, without_prefix
from .rule_table import RuleTable
from .schema_reader import SchemaReader
from .schema_satisfiability import may_be_met
from .schema_survey import plain_words
from .string_ways import json_style, kind_style, string_ways

# Members of one of several objects: common prefixes are written once.
#
# For `{city, days}` and `{city, night}` one rule covers the members after `city` in either: before
# them, an engine that never backtracks cannot tell the objects apart.


_Place: TypeAlias = tuple[int, int]
"""An object's number, and an index among its members."""


class MergedMembers:
    """Makes the rules for the members of one of several objects in one notation."""

    def __init__(self, table: RuleTable, objects: Sequence[MemberRules]) -> None:
        """Store the objects, each with its members."""
        self.table, self.objects = table, objects

    def begin(self) -> RuleReference:
        """Return the rule for all members of one of the objects; at least one is written."""
        if len(self.objects) == 1:
            return self.objects[0].begin()
        return self._state([(index, 0) for index in range(len(self.objects))])

    def _state(self, places: Sequence[_Place], lead: str = "") -> RuleReference:
        """Return the rule for the members from some places on, after the lead of each."""
        if len(places) == 1:
            ((index, at),) = places
            rules = self.objects[index]
            return rules.led(at) if lead else rules.begin(at)
        key = f"{[self.objects[index].key for index, _ in places]} {places} {lead}"
        return self.table.rule(key, "member", lambda: self._from(places, lead))

    def _from(self, places: Sequence[_Place], lead: str) -> Node:
        """Make the rule for the members from some places on, branched where their texts differ."""
        entries: dict[tuple[object, ...], Path] = {}
        after: dict[tuple[object, ...], list[_Place]] = {}
        for index, at in places:
            for entry, following in self.objects[index].steps(at):
                entry_key = tuple(map(_schema_key, entry))
                entries.setdefault(entry_key, entry)
                after.setdefault(entry_key, []).append((index, following))
        paths: list[Path] = []
        for entry_key, found in after.items():
            entry = entries[entry_key]
            first = self.objects[found[0][0]]
            # With sorted names, several members of one object lead to the same place.
            on = sorted({(index, at) for index, at in found if self.objects[index].goes_on(at)})
            if on:
                leads = {self.objects[index].lead(entry) for index, _ in on}
                next_lead = leads.pop() if len(leads) == 1 else ""
                later = self._state(on, next_lead)
                paths.append(join_path(*entry, first.container.separator, next_lead, later))
            if any(self.objects[index].may_end(at) for index, at in found):
                paths.append(join_path(*entry, first.close))
        return self.table.brancher.branch(
            [without_prefix(path, lead) if lead else path for path in paths]
        )


def _schema_key(item: Item) -> object:
    """Return a key that is equal for values of equal schemas."""
    return (json.dumps(item.schema), item.style) if isinstance(item, JsonValue) else item


_ORDER = {kind: at for at, kind in enumerate(JsonType)}


_EntryCase: TypeAlias = tuple[str, str, int, tuple[str, ...], frozenset[JsonType] | None]
"""Place, schema, container, stops, and the types that the value of an entry is read as."""


class _Entry(NamedTuple):
    """An item or a member: the schema of its value, and the texts around that."""

    schema: Json
    """The schema of its value, e.g. {"type": "integer"}."""
    container: ContainerNotation
    """The notation of the array or object around it, e.g. of `<parameter=city>`."""
    outer: ValueNotation
    """The notation of the values in that, e.g. strings between quotes as JSON has them."""
    exclude: Sequence[str]
    """The texts that its value must not hold, e.g. ("</parameter>",)."""
    read_as: frozenset[JsonType] | None
    """The types that its reader takes a text for, e.g. `ANY`; None for the schema's types."""


class ClosedEntries(Struct, frozen=True):
    """Caches entries: the rules of those with a close of their own, the ways of others."""

    rules: dict[_EntryCase, tuple[Row, RuleReference]] = field(
        default_factory=dict[_EntryCase, tuple[Row, RuleReference]]
    )
    """The text before the value, and the rule from there, e.g. '<parameter name="', the key, '">'
    and "value-254b40bad35a"."""
    paths: dict[tuple[str, _EntryCase], Path] = field(
        default_factory=dict[tuple[str, _EntryCase], Path]
    )
    """The whole entry, by its name, e.g. "city": tools share names of parameters, too."""
    open: dict[_EntryCase, _MadeEntry] = field(default_factory=dict[_EntryCase, "_MadeEntry"])
    """Entries without a close of their own."""


class _MadeEntry(NamedTuple):
    """An entry of a schema, written for any name."""

    closed: tuple[Row, RuleReference] | None
    """The text before the value and the rule from there, if it has a close of its own, e.g.
    '<parameter name="', the key, '">' and "value-254b40bad35a"."""
    ways: Sequence[tuple[Row, list[Path]]] = ()
    """Its rows and the values in each, otherwise, e.g. the key, "=", and "celsius" or "fahrenheit".
    """
    part: RulePart | None = None
    """The rules of the value, e.g. of "value-254b40bad35a", if they are kept for every tool."""
    mark: str = ""
    """The end of the names of these rules, e.g. "254b40bad35a"."""


_KEPT: IdentityCache[_MadeEntry] = IdentityCache(1024)
"""Cached entries of tools whose rules are made apart."""
_FOLLOWED: IdentityCache[_MadeEntry] = IdentityCache(1024)
"""Cached entries without a closing text, written with the text that follows them."""
_NOTATION_TEXTS: IdentityCache[str] = IdentityCache(256)
_ALONE: IdentityCache[tuple[Row, Node] | None] = IdentityCache(512)
"""Cached results of `alone`: most tools' parameters have one of a few schemas."""


def _notation_text(entry: _Entry) -> str:
    """Return the notation of an entry as a text, which takes longer than most entries' rules."""
    notation = entry.container, entry.outer
    return _NOTATION_TEXTS.of(notation, None, lambda: repr(notation))


class ValueWriter(Struct, frozen=True):
    """Makes the rules for values of one schema in one notation."""

    table: RuleTable
    """The table that gets the rules, e.g. a `RuleTable`."""
    reader: SchemaReader
    """The reader of the whole schema, which resolves its references, e.g. "#/$defs/place"."""
    order: MemberOrder = MemberOrder.GIVEN
    """The order in which the format writes members, e.g. sorted."""
    closed: ClosedEntries = field(default_factory=ClosedEntries)
    """The cache of entries, e.g. of "city"; writers may share it."""
    is_apart: bool = False
    """Whether its rules are discarded, e.g. True in `alone`."""
    takes_kept: bool = True
    """Whether entries that are kept for all tools are taken, e.g. {"type": "string"}, if its table
    is one tool's. What they hold is written anew: any value may hold any other, so that they would
    hold themselves."""

    def ways(
        self,
        schema: Json,
        notation: ValueNotation,
        exclude: Sequence[str],
        kinds: frozenset[JsonType] | None = None,
        bare: BareValue | None = None,
    ) -> list[Path]:
        """Return the ways to write a value; `kinds` are the types that are meant here.

        `bare` is the whole value of which this is an option.
        """
        found = self.reader.resolved(schema)
        allowed = self.reader.kinds(found)
        kinds = allowed if kinds is None else kinds & allowed
        bare = BareValue(found, kinds) if bare is None else bare
        style = json_style(notation)
        if style is not None:
            return self._json(found, kinds, style) if kinds else []
        fixed = self.reader.only_values(found, kinds)
        if fixed is not None:
            return distinct_paths(
                [join_path(text) for text in bare.fixed_texts(fixed, found, notation)]
            )
        options = self.reader.options(found)
        taken_apart = options != [found]
        is_raw = _is_raw(notation.string)
        least = least_of_any_text(self.reader, found, kinds) if taken_apart and is_raw else None
        if taken_apart and least is None:
            objects = self._objects(options, notation, kinds)
            others = kinds - {JsonType.OBJECT} if objects else kinds
            ways = [
                way
                for option in options
                for way in self.ways(
                    option, notation, exclude, others if option in objects else kinds, bare
                )
            ]
            if objects:
                ways += self._written_objects(objects, notation, exclude)
            return told_apart(ways, exclude)
        only = options[0] if len(options) == 1 else found
        if least:
            # Any text may be read as one of the values, but for texts that are too short for each.
            only = {**only, "minLength": least}
        if JsonType.STRING in kinds and is_bare(notation.string):
            # Without quotes, a text may be read as a value of another type, which its keywords have
            # to allow.
            bare.hold(self.reader)
        return self._by_type(only, notation, exclude, kinds, bare.kinds)

    def _objects(
        self, options: Sequence[Schema], notation: ValueNotation, kinds: frozenset[JsonType]
    ) -> list[Schema]:
        """Return the options that are objects, if several are and JSON does not write them.

        They are written together: no reader can tell which of the objects that begin alike it
        reads.
        """
        if JsonType.OBJECT not in kinds or kind_style(notation, JsonType.OBJECT) is not None:
            return []
        found = [
            option
            for option in options
            if JsonType.OBJECT in self.reader.kinds(option)
            and self.reader.only_values(option, kinds) is None
        ]
        return found if len(found) > 1 else []

    def _written_objects(
        self, schemas: Sequence[Schema], notation: ValueNotation, exclude: Sequence[str]
    ) -> list[Path]:
        """Return the ways to write an object of one of several schemas that is not JSON."""
        if notation.string.open:
            # If a value ends with its own bracket, the closing text of strings still counts.
            exclude = (*exclude, notation.string.close)
        objects = [only for schema in schemas for only in self.reader.objects(schema)]
        return self.one_of(objects, notation.object, notation, exclude)

    def _json(self, schema: Schema, kinds: frozenset[JsonType], style: JsonStyle) -> list[Path]:
        """Return the way to write values of some types as JSON; empty without values."""
        part = self.reader.alone(schema, kinds, self.order)
        return [(JsonValue(part, style),)] if may_be_met(part) else []

    def _by_type(
        self,
        schema: Schema,
        notation: ValueNotation,
        exclude: Sequence[str],
        kinds: frozenset[JsonType],
        beside: frozenset[JsonType],
    ) -> list[Path]:
        """Return the ways to write values of some types; a reader takes text for those `beside`."""
        ways: list[Path] = []
        if JsonType.STRING in kinds and kind_style(notation, JsonType.STRING) is None:
            self.reader.hold(schema, JsonType.STRING)
            is_any = (
                _is_raw(notation.string)
                and least_of_any_text(self.reader, schema, kinds) is not None
            )
            kept_out = [*exclude, *_elements(notation, beside)]
            others = _openings(notation, kinds) if is_any else []
            ways += string_ways(notation.string, schema, kept_out, others)
            if is_any:
                # Other bare values are included in such a text, unless they have elements or a
                # separator that ends a text.
                kinds = frozenset(kind for kind in kinds if _is_more(notation, kind, exclude))
        by_style: dict[JsonStyle, set[JsonType]] = {}
        # Sets have no order, and a grammar must not differ from run to run.
        for kind in sorted(kinds, key=_ORDER.__getitem__):
            style = kind_style(notation, kind)
            if style is not None:
                by_style.setdefault(style, set()).add(kind)
            elif kind is not JsonType.STRING:
                ways += self._plain_ways(schema, kind, notation, exclude)
        for style, same in by_style.items():
            ways += self._json(schema, frozenset(same), style)
        return told_apart(ways, exclude)

    def _plain_ways(
        self, schema: Schema, kind: JsonType, notation: ValueNotation, exclude: Sequence[str]
    ) -> list[Path]:
        """Return the ways to write a value of a type that is not written as JSON."""
        self.reader.hold(schema, kind)
        match kind:
            case JsonType.BOOLEAN:
                return [join_path(notation.true), join_path(notation.false)]
            case JsonType.NULL:
                return [join_path(notation.null)]
            case JsonType.INTEGER | JsonType.NUMBER:
                numbers = self._json(schema, frozenset({kind}), JsonStyle())
                around = notation.number
                return [
                    join_path(around.open, by_its_text(number), around.close)
                    for (number,) in numbers
                ]
            case JsonType.ARRAY:
                inside = (*exclude, notation.string.close) if notation.string.open else exclude
                return self.array(schema, notation, inside)
            case JsonType.OBJECT:
                return self._written_objects([schema], notation, exclude)
            case JsonType.STRING:
                return string_ways(notation.string, schema, exclude)

    def key(
        self,
        what: str,
        schema: Json | dict[str, Json],
        container: ContainerNotation,
        texts: Sequence[str],
    ) -> Hashable:
        """Return the key of a rule: all that the rule depends on."""
        # No part of the whole schema equals it, except through a reference.
        is_whole = schema is self.reader.root and not self.reader.document.refers
        schema_text = "" if is_whole else repr(schema)
        # A schema without references means the same in every tool; most allow any type.
        is_own = is_whole or self._refers_back(schema_text)
        return what, self.reader.place if is_own else "", schema_text, id(container), tuple(texts)

    def _refers_back(self, schema_text: str) -> bool:
        """Return whether a schema's key depends on its own document."""
        return self.reader.document.refers and "'$ref'" in schema_text

    def array(self, schema: Schema, notation: ValueNotation, exclude: Sequence[str]) -> list[Path]:
        """Return the ways to write an array: an empty one, one with items."""
        container = notation.array
        items = schema.get("items", True)
        key = self.key("items", items, container, exclude)
        make = partial(self._item, items, container, notation, exclude, key)
        try:
            item = self.table.rule(key, "item", make)
        except SchemaError as error:
            raise error_of_outer(error, schema, items, "items") from None
        ways = [join_path(container.open, item)]
        if not schema.get("minItems"):
            ways.insert(0, join_path(container.empty))
        return ways

    def _item(
        self,
        items: Json,
        container: ContainerNotation,
        outer: ValueNotation,
        exclude: Sequence[str],
        key: Hashable,
    ) -> Node:
        same_rule = self.table.rule(key, "item", lambda: RuleReference(""))
        paths: list[Path] = []
        for entry in self.entries("", items, container, outer, exclude):
            paths.append(join_path(*entry, container.separator, same_rule))
            paths.append(join_path(*entry, container.close))
        return self.table.brancher.branch(paths)

    def entries(
        self,
        name: str,
        schema: Json,
        container: ContainerNotation,
        outer: ValueNotation,
        exclude: Sequence[str],
        made_up: Path = (),
        read_as: frozenset[JsonType] | None = None,
        behind: str = "",
    ) -> list[Path]:
        """Return the ways to write an item or a member; `made_up` writes a key that has no name.

        Where an entry has a close of its own, the value and that close are one rule. `read_as` are
        the types that its reader takes a text for; None means those of the schema. `behind` is a
        text that follows an entry with a made-up key, and belongs to that rule.
        """
        schema_text = repr(schema)
        refers_back = self._refers_back(schema_text)
        exclude = tuple(exclude)
        case = (
            self.reader.place if refers_back else "",
            schema_text,
            id(container),
            exclude,
            read_as,
        )
        # A made-up key depends on the names beside it, so it is never cached.
        whole = None if made_up else self.closed.paths.get((name, case))
        if whole is not None:
            return [whole]
        entry = _Entry(schema, container, outer, exclude, read_as)
        key: Path = made_up or (container.key.write(name),)
        known = self.closed.rules.get(case)
        made = self.closed.open.get(case) if known is None else _MadeEntry(known)
        if made is None and not refers_back:
            owners = (container, outer, self.table.brancher.opaque)
            kept_key = (schema_text, self.order, repr(read_as and sorted(read_as)), *exclude)
            if self.takes_kept and self.table.mark:
                made = self._take_kept(entry, owners, kept_key)
            else:
                alone = _ALONE.of(owners, kept_key, lambda: self._apart.alone(entry))
                if alone is not None:
                    before, node = alone
                    hints = f"alone {len(self.closed.rules)}", f"{name} value"
                    made = _MadeEntry((before, self.table.rule(*hints, lambda: node)))
        if made is None:
            made = self._write_entry(entry, f"value {case!r}", f"{name} value")
        if made.closed is not None:
            self.closed.rules[case] = made.closed
        else:
            self.closed.open[case] = made
            followed = self._followed(made, entry, behind, case) if behind else None
            if followed is not None:
                made, behind = followed, ""
        if made.closed is None:
            return [
                join_path(*fill_row(row, key, way), behind)
                for row, found in made.ways
                for way in found
            ]
        before, closed = made.closed
        path = join_path(*fill_row(before, key, ()), closed, behind)
        if not made_up:
            self.closed.paths[name, case] = path
        return [path]

    def _take_kept(
        self, entry: _Entry, owners: tuple[object, ...], key: tuple[object, ...]
    ) -> _MadeEntry:
        """Take an entry whose rules are kept for all tools."""

        def make() -> _MadeEntry:
            mark = text_mark(f"{_notation_text(entry)} {key}")
            return self._kept_writer(mark).kept(entry)

        made = _KEPT.of(owners, (self.table.names_alone, *key), make)
        return self._take_part(made)

    def _take_part(self, made: _MadeEntry) -> _MadeEntry:
        """Return an entry whose rules belong to the table now."""
        if made.part is not None:
            self.table.parts[made.part] = None
        return made

    def _kept_writer(self, mark: str) -> ValueWriter:
        """Return a writer of rules for all tools, which end with a mark."""
        table = self.table.of_tool("", mark)
        return replace(self, table=table, closed=ClosedEntries(), takes_kept=False)

    def kept(self, entry: _Entry) -> _MadeEntry:
        """Make the rules of an entry, in a table of its own."""
        made = self._write_entry(entry, "value", "value")
        nodes = (way for _, found in made.ways for way in found)
        entries = path_nodes(nodes) if made.closed is None else [made.closed[1]]
        part = RulePart.of("", entries, self.table.rules_by_name, self.table.parts)
        return made._replace(part=part, mark=self.table.mark)

    def _write_entry(self, entry: _Entry, key: str, name: str) -> _MadeEntry:
        """Write an entry: the beginning that its rows share and a rule, or else its ways by row."""
        ways = self._ways_by_row(entry)
        head = closed_alike(list(ways), self.table.brancher.shared)
        if head is None:
            return _MadeEntry(None, [(row, made()) for row, made in ways.items()])
        made = partial(self._rest_rule, ways, head, entry.schema)
        return _MadeEntry((head, self.table.rule(key, name, made)))

    def _followed(
        self, made: _MadeEntry, entry: _Entry, behind: str, case: _EntryCase
    ) -> _MadeEntry | None:
        """Return an entry without a close of its own, with the text behind it as one rule.

        Return None if its rows do not part in a text.
        """
        head = closed_alike([row for row, _ in made.ways], self.table.brancher.shared, behind)
        if head is None:
            return None
        ways = {row: partial(list[Path], found) for row, found in made.ways}

        def rule(writer: ValueWriter) -> tuple[Row, RuleReference]:
            make = partial(writer._rest_rule, ways, head, entry.schema, behind)
            return head, writer.table.rule((case, behind), "value", make)

        part = made.part
        if part is None:
            return _MadeEntry(rule(self))

        def keep() -> _MadeEntry:
            writer = self._kept_writer(text_mark(f"{made.mark} {behind}"))
            closed = rule(writer)
            rules = writer.table.rules_by_name
            return _MadeEntry(closed, part=RulePart.of("", [closed[1]], rules, [part]))

        return self._take_part(_FOLLOWED.of((part,), behind, keep))

    def _ways_by_row(self, entry: _Entry) -> dict[Row, Callable[[], list[Path]]]:
        """Return the rows of an entry, each with the factory of the ways to write its values."""
        by_row: dict[Row, set[JsonType]] = {}
        for kind in sorted(self.reader.kinds(entry.schema), key=_ORDER.__getitem__):
            row = entry.container.row(kind)
            if row is not None:
                by_row.setdefault(row, set()).add(kind)
        return {
            row: partial(self._ways_of, row, frozenset(kinds), entry)
            for row, kinds in by_row.items()
        }

    def _ways_of(self, row: Row, kinds: frozenset[JsonType], entry: _Entry) -> list[Path]:
        """Return the ways to write the value in a row."""
        schema, container, outer, exclude, read_as = entry
        closes = list(dict.fromkeys([*exclude, *entry_closes(row, container, outer)]))
        row_kinds = kinds_told(container, row)
        bare = BareValue(schema, row_kinds or read_as or self.reader.kinds(schema))
        ways = self.ways(schema, container.values or outer, closes, kinds, bare)
        is_inside = container in (outer.object, outer.array)
        return [within_floats(way, closes) for way in ways] if is_inside else ways

    def _rest_rule(
        self,
        ways: Mapping[Row, Callable[[], list[Path]]],
        before: Row,
        schema: Json,
        behind: str = "",
    ) -> Node:
        """Make the rule for the text after the common beginning of rows: values, closes."""
        found: list[Path] = []
        for row, made in ways.items():
            head = row[len(before) - 1 : len(before)]
            text = str(head[0])[len(str(before[-1])) :] if head else ""
            rest = row[len(before) :]
            found += [join_path(text, *fill_row(rest, (), way), behind) for way in made()]
        if not found:
            raise SchemaError("no value satisfies this schema", pointer=_schema_pointer(schema))
        return self.table.brancher.branch(found)

    @property
    def _apart(self) -> ValueWriter:
        """A writer whose rules are discarded: earlier requests must not change a grammar."""
        if self.is_apart:
            return self
        table = RuleTable(self.table.brancher.opaque)
        return replace(self, table=table, closed=ClosedEntries(), is_apart=True)

    def alone(self, entry: _Entry) -> tuple[Row, Node] | None:
        """Return the text before a value, and the rule for the value and its close.

        Return None if it has no close of its own, or if it refers to other rules.
        """
        ways = self._ways_by_row(entry)
        before = closed_alike(list(ways), self.table.brancher.shared)
        if before is None:
            return None
        node = self._rest_rule(ways, before, entry.schema)
        # A rule that refers to others belongs to one table and cannot be kept for the next.
        return None if any(True for _ in references_in(node)) else (before, node)

    def one_of(
        self,
        schemas: Sequence[Schema],
        container: ContainerNotation,
        outer: ValueNotation,
        exclude: Sequence[str],
        behind: str = "",
        part: SchemaPart | None = None,
    ) -> list[Path]:
        """Return the ways to write an object of one of several schemas.

        `behind` is the text that always follows it, `part` what its reader knows of it.
        """
        members = [
            self._members(schema, container, outer, exclude, behind, part) for schema in schemas
        ]
        # Options of a union often allow the same objects: those are written once.
        found = [*{rules.key: rules for rules in members if not rules.impossible}.values()]
        ways: list[Path] = []
        if any(not rules.required for rules in found):
            ways.append(join_path(container.empty, behind))
        held = [rules for rules in found if rules.names or rules.more]
        if held:
            ways.append(join_path(container.open, MergedMembers(self.table, held).begin()))
        return ways

    def _members(
        self,
        schema: Schema,
        container: ContainerNotation,
        outer: ValueNotation,
        exclude: Sequence[str],
        behind: str,
        part: SchemaPart | None,
    ) -> MemberRules:
        """Return the members of an object's schema."""
        close = container.close + behind
        key = self.key("members", schema, container, (*exclude, behind))
        last = close.strip()
        if last and container.entry[-1:] == (RowSlot.VALUE,):
            # Nothing else ends the last text, so its reader stops at each of these.
            if is_bare(outer.string):
                exclude = (*exclude, last)
            elif outer.string.escape is StringEscape.VERBATIM:
                exclude = (*exclude, outer.string.close + TemplateLiteral.of(last).first)
        if is_bare((container.values or outer).string):
            exclude = (*exclude, *declared_entries(container, schema))

        # The reader and the writer of a plain object agree exactly.
        is_read_alike = part is None or (part.schema is schema and part.tells_members_alone)

        def entries(name: str, member: Json, made_up: Path, behind: str) -> list[Path]:
            read_as = None
            if part is not None and not is_read_alike:
                read_as = part.member(name).kinds or ANY
                if read_as == self.reader.kinds(member):
                    read_as = None
            return self.entries(name, member, container, outer, exclude, made_up, read_as, behind)

        all_written = None not in container.typed.values()
        # Every part of a plain schema is plain, so its members need no check of their own.
        is_plain = all_written and plain_words(dict(schema)) is not None

        def writes(member: Json) -> bool:
            if is_plain:
                return member is not False
            kinds = self.reader.kinds(member)
            written = all_written or any(container.row(kind) is not None for kind in kinds)
            return bool(kinds) and written and self.reader.may_be_met(member)

        return MemberRules(self.table, schema, container, entries, writes, close, key)


def _schema_pointer(schema: Json) -> str:
    return schema_place(schema, ROOT) if isinstance(schema, dict) else ROOT


def _is_more(notation: ValueNotation, kind: JsonType, exclude: Sequence[str]) -> bool:
    """Return whether values of a type may be written as an unquoted text is not.

    They are made of elements with no enclosure, or separated by something that ends a text.
    """
    container = _container(notation, kind)
    if container is None:
        return False
    return not container.open.strip() or any(
        text in container.separator for text in exclude if text
    )


def _openings(notation: ValueNotation, kinds: frozenset[JsonType]) -> list[str]:
    """Return the beginnings of values of types, if these are always enclosed."""
    containers = [_container(notation, kind) for kind in sorted(kinds)]
    return [
        container.open
        for container in containers
        if container is not None and container.open.strip()
    ]


def _elements(notation: ValueNotation, kinds: frozenset[JsonType]) -> list[str]:
    """Return the beginnings of the elements of values: text that holds one is read as elements."""
    containers = [_container(notation, kind) for kind in sorted(kinds)]
    made_of = [
        container
        for container in containers
        if container is not None and not container.open.strip()
    ]
    return [entry_opening(container.entry) for container in made_of if is_bare(notation.string)]


def _container(notation: ValueNotation, kind: JsonType) -> ContainerNotation | None:
    return {JsonType.ARRAY: notation.array, JsonType.OBJECT: notation.object}.get(kind)


def _is_raw(text: StringText) -> bool:
    """Return whether a string is written without an enclosure."""
    return not text.open and text.escape is StringEscape.VERBATIM
