"""The turn as rules: every row that the expression has for a strict writer, for one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, Literal as FormatLiteral, Part, Slot
from autoparser.analysis.loading.tokens import OpaqueTokens
from autoparser.analysis.reading.expression import Body, IdentityCache, StrictItem, StrictRow, Turn
from autoparser.analysis.reading.parsing.closers import section_closers

from .call_writer import CallWriter, GrammarError, literal_at
from .paths import Path, joined
from .rules import NOTHING, GrammarRules, JsonStyle, JsonValue, LiteralNode, Prose, choice
from .schema_reader import SchemaReader
from .table import RuleTable
from .triggers import begun_of

_CONTENT_STYLE = JsonStyle()
_LONG = 64


@dataclass(frozen=True, slots=True)
class _RuleFrame:
    """A turn's rules but for those of the tools."""

    rules: GrammarRules
    open: Mapping[str, bool]
    """The rules of the calls that are still to be made, as `CallWriter.fill` takes them."""


_FRAMES: IdentityCache[_RuleFrame] = IdentityCache(64)


def parts_of(turn: Turn) -> tuple[object, ...]:
    """Return the parts of a turn that decide its rules: they stay the same between requests."""
    return turn.strict, turn.reasoning, turn.content, turn.ends, turn.header


def rules_of(
    turn: Turn,
    tools: Mapping[str, Json],
    *,
    parallel: bool = True,
    json_schema: Json = None,
    lazy: bool = False,
    opaque: OpaqueTokens,
) -> GrammarRules:
    """Make the rules of a turn.

    `tools` gives the parameters' schema by function name. With `json_schema`, content is JSON that
    it allows. A lazy grammar begins where the calls begin. No rule cuts an opaque token.
    Raises GrammarError and SchemaError.
    """
    table = RuleTable(opaque)
    maker = TurnRules(turn, tools, table, parallel=parallel, json_schema=json_schema)
    calls = maker.calls
    if json_schema is not None or (calls is not None and not calls.head):
        frame, kept = maker.frame(lazy=lazy), None
    else:
        owners = (*parts_of(turn), opaque)
        frame = _FRAMES.of(owners, (parallel, lazy, *maker.heads), lambda: maker.frame(lazy=lazy))
        kept = frame.rules
    # In the same order whether it was kept or made here.
    table.named.clear()
    table.named.update({**frame.rules.named, **dict.fromkeys(frame.open, NOTHING)})
    if calls is not None:
        for name, first in frame.open.items():
            calls.fill(name, first=first)
    return GrammarRules(frame.rules.root, table.named, table.tools, kept)


def _from_calls(row: StrictRow, calls: CallFormat) -> StrictRow:
    """Leave out what stands before the calls, up to where a trigger begins."""
    at = next(
        at
        for at, item in enumerate(row.items)
        if isinstance(item, Body) and item.part is Part.CALLS
    )
    body = Body(Part.CALLS, begun=begun_of(row, calls))
    return StrictRow((body, *row.items[at + 1 :]), row.end)


class TurnRules:
    """Makes the ways through the rows of a turn."""

    def __init__(
        self,
        turn: Turn,
        tools: Mapping[str, Json],
        table: RuleTable,
        *,
        parallel: bool,
        json_schema: Json,
    ) -> None:
        self.turn = turn
        self.table = table
        self.json_schema = json_schema
        self._paths: dict[tuple[StrictRow, ...], list[Path]] = {}
        """What is left of rows, and the ways to write it: rows that begin otherwise end alike."""
        calls = turn.strict.calls
        self.heads = [] if calls is None else call_heads(calls, tuple(tools))
        self.calls = (
            CallWriter(self.table, calls, tools, parallel=parallel, stops=self.call_stops(calls))
            if calls is not None
            else None
        )

    @cached_property
    def in_content(self) -> tuple[str, ...]:
        """The texts that end content: of free text there, the marks."""
        turn, reasoning = self.turn, self.turn.reasoning
        around = [] if reasoning is None else [reasoning.open.core, reasoning.close.core]
        content = [turn.content.open, turn.content.close, *turn.content.others]
        header = [turn.header.core] if turn.header.markers else []
        ends = [end.core for end in turn.ends]
        marks = [*around, *(literal.core for literal in content), *header, *ends, *self.heads]
        return _texts([*marks, *_stray_after_calls(turn)])

    @cached_property
    def in_reasoning(self) -> tuple[str, ...]:
        """The texts that end reasoning, or that a reader skips in it."""
        reasoning = self.turn.reasoning
        edges = [] if reasoning is None else [reasoning.close.core]
        if reasoning is not None and reasoning.open.is_marker:
            edges.append(reasoning.open.core)
        return _texts([*edges, *(end.core for end in self.turn.ends if end.is_marker)])

    @cached_property
    def json_content(self) -> JsonValue:
        """What content is where a schema is asked for."""
        reader = SchemaReader(self.json_schema, "json_schema")
        root = reader.root if isinstance(reader.root, dict) else {}
        return JsonValue(reader.alone(root), _CONTENT_STYLE)

    @cached_property
    def forgiven(self) -> tuple[str, ...]:
        """The texts that begin calls whose first marker is missing."""
        calls = self.turn.strict.calls
        return () if calls is None else _texts(_forgiven(calls))

    def frame(self, *, lazy: bool) -> _RuleFrame:
        """Make the rules that tools do not change."""
        rows = self.turn.strict.rows
        calls = self.turn.strict.calls
        if lazy and calls is not None:
            called = [row for row in rows if row.has(Part.CALLS)]
            rows = tuple(dict.fromkeys(_from_calls(row, calls) for row in called))
        if self.json_schema is not None:
            # An answer without content is not JSON.
            rows = tuple(row for row in rows if row.has(Part.CONTENT) or row.has(Part.CALLS))
        if not rows:
            raise GrammarError(
                "the template writes no message that this request asks for",
                hint="offer tools where calls are required, and only to a template that writes "
                "calls",
            )
        root = self.table.brancher.branch(self.paths(rows), self.in_content)
        opened = {} if self.calls is None else dict(self.calls.open)
        named = {name: rule for name, rule in self.table.named.items() if name not in opened}
        return _RuleFrame(GrammarRules(root, named), opened)

    def call_stops(self, calls: CallFormat) -> list[str]:
        """Return the texts that end a value which was not closed, as a reader sees it."""
        texts = [end.core for end in self.turn.ends]
        begins = map(FormatLiteral.of, (*self.heads, calls.section_close))
        return [*texts, *(each.first for each in begins if FormatLiteral.of(each.first).is_marker)]

    def paths(self, rows: Sequence[StrictRow]) -> list[Path]:
        """Give the ways to write rows, or what is left of them; rows that begin alike go together.

        What may follow a call has to be told in one place: it is what the next call parts from.
        """
        key = tuple(rows)
        known = self._paths.get(key)
        if known is None:
            known = self._paths[key] = self._found(rows)
        return known

    def _found(self, rows: Sequence[StrictRow]) -> list[Path]:
        alike: dict[StrictItem | None, list[StrictRow]] = {}
        for row in rows:
            alike.setdefault(row.items[0] if row.items else None, []).append(row)
        found: list[Path] = []
        for first, same in alike.items():
            if first is None:
                found += [path for row in same for path in self._end(row)]
            else:
                found += self._item(first, [StrictRow(row.items[1:], row.end) for row in same])
        return found

    def _item(self, item: StrictItem, behind: Sequence[StrictRow]) -> list[Path]:
        """Return the ways to write one item and what is left after it."""
        if isinstance(item, str):
            return [joined(item, *path) for path in self.paths(behind)]
        if item.part is Part.CALLS:
            if self.calls is None:
                raise GrammarError("the row has calls, the format has none")
            return self.calls.ways(self.paths(behind), item.begun)
        if item.part is Part.CONTENT and self.json_schema is not None:
            return [joined(self.json_content, *path) for path in self.paths(behind)]
        content = item.part is Part.CONTENT
        prose = Prose(
            self.in_content if content else self.in_reasoning,
            self.forgiven if content else (),
            item.edges.left,
            item.edges.right,
            part=item.part.value,
        )
        blank = [row for row in behind if not row.items and row.end.text and not row.end.core]
        others = [row for row in behind if row not in blank]
        found = [(replace(prose, space=row.end.before),) for row in blank]
        return [*found, *(joined(prose, *path) for path in self.paths(others))]

    def _end(self, row: StrictRow) -> list[Path]:
        """Return the ways to end: a model may stop, or write the end that the template has."""
        end = row.end
        if not end.text:
            return [()]
        after = choice(NOTHING, LiteralNode(end.after)) if end.after else ""
        return [(), joined(f"{end.before}{end.core}", after)]


def _stray_after_calls(turn: Turn) -> list[str]:
    """Return what a reader takes for stray closers, where content follows calls."""
    parts = [
        [item.part for item in row.items if isinstance(item, Body)] for row in turn.strict.rows
    ]
    follows = any(Part.CALLS in each and each[-1] is Part.CONTENT for each in parts)
    return list(section_closers(turn, turn.calls)) if follows and turn.calls else []


def _texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that a reader stops at, once each, without those that hold another.

    Of a long one, its beginning is enough; a single sign is too little to be markup.
    """
    known = list(dict.fromkeys(text[:_LONG] for text in texts if text[1:] or text.isalnum()))
    return tuple(
        text for text in known if not any(other in text for other in known if other != text)
    )


def call_heads(calls: CallFormat, names: Sequence[str]) -> list[str]:
    """Give the texts that begin calls, as a reader notices them: a marker, or all up to a name."""
    row = calls.row
    first = literal_at(row, 0)
    heads: list[str] = []
    for literal in (calls.section_open, first):
        written = FormatLiteral.of(literal)
        if written.is_marked or written.mark:
            heads.append(written.trigger)
    if heads:
        return heads
    head = calls.opening.strip()
    at = row.index(Slot.NAME) if Slot.NAME in row else -1
    follows = literal_at(row, at + 1).strip()[:1]
    return [f"{head}{name}{follows}" for name in names]


def _forgiven(calls: CallFormat) -> list[str]:
    """Return what begins a call whose first marker was forgotten: the marker before its name."""
    units = FormatLiteral.of(literal_at(calls.row, 0)).units
    if calls.row[1:2] != (Slot.NAME,) or len(units) == 1:
        return []
    return [unit for unit in units[-1:] if any(map(str.isalnum, unit))]
