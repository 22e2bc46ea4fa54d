r"""Turn a format's expression into grammar rules for one request.

    TurnTrees, tools, options -> rules_of_turns -> GrammarRules

The rules cover every row that the expression has for a strict writer. `TurnRules` makes the parts
that do not depend on the tools, which are cached as a frame; `CallWriter` fills in the calls. A
lazy grammar begins at a trigger (`call_triggers.py`): a text that begins calls and nothing else.

If a call is required, a turn that begins in reasoning is, as GBNF writes it:

    root ::= (reasoning | "\n</think>\n\n" (content-2 | CALLS))
    where CALLS is "<tool_call>\n<function=" call more-calls
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from msgspec import Struct, structs

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_alignment import TemplateLiteral as FormatLiteral
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.parsing.call_ends import section_closers
from autoparser.analysis.parsing.stop_marks import ChannelFrame, channel_frame
from autoparser.analysis.parsing.turn_nodes import (
    PartBody,
    StrictItem,
    StrictRow,
    StrictTurn,
    TurnTree,
)
from autoparser.analysis.parsing.turn_request import IdentityCache
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .call_triggers import begun_before_lazy
from .call_writer import END_OF_PROMPT, CallWriter, GrammarError, HeaderTail, before_end, literal_at
from .free_rows import ended_by_calls, free_rows
from .grammar_rules import (
    NOTHING,
    FreeProse,
    GrammarRules,
    JsonStyle,
    JsonValue,
    RulePart,
)
from .rule_paths import Path, join_path
from .rule_table import RuleTable
from .schema_reader import SchemaReader

# Turns without their ends.
#
# Engines mask the tokens that end an answer inside a grammar, so a constraint that requires one can
# never be fulfilled, and one that allows it as text lets a model spell it out. So no form of a
# grammar contains an end: after `{}` in `to=functions.now<|message|>{}<|call|>`, an engine lets the
# model stop.


_UNENDED: IdentityCache[StrictTurn] = IdentityCache(256)


def without_ends(turn: TurnTree, eos: Sequence[str] = ()) -> TurnTree:
    """Return a turn whose rows stop before the text that ends them, or before an `eos` token."""
    ends = (*(end.core for end in turn.ends), *eos)
    strict = _UNENDED.of((turn.strict,), ends, lambda: _unended(turn.strict, ends, eos))
    return structs.replace(turn, strict=strict)


def _unended(strict: StrictTurn, ends: Sequence[str], eos: Sequence[str]) -> StrictTurn:
    def unended(rows: Iterable[StrictRow]) -> tuple[StrictRow, ...]:
        return tuple(dict.fromkeys(_row_without_end(row, ends) for row in rows))

    rows, calls, free = unended(strict.rows), strict.calls, strict.free
    calls = None if calls is None else _unended_calls(calls, ends, eos)
    free = None if free is None else unended(free)
    return structs.replace(strict, rows=rows, calls=calls, free=free)


def _row_without_end(row: StrictRow, ends: Sequence[str]) -> StrictRow:
    last = row.items[-1] if row.items else None
    if isinstance(last, str) and last in ends:
        # For example `<|im_end|>`, which closes the reasoning of an answer without any other part.
        return StrictRow(row.items[:-1])
    if not row.end.core:
        return row
    # Keep the whitespace before an end after content and calls, where models write it.
    kept = FormatLiteral() if isinstance(last, str) else FormatLiteral(before=row.end.before)
    return StrictRow(row.items, kept)


def _unended_calls(calls: CallFormat, ends: Sequence[str], eos: Sequence[str]) -> CallFormat:
    """Return calls whose last text stops before an end; a token that ends an answer ends it."""
    if calls.section_close.strip():
        return structs.replace(calls, section_close=before_end(calls.section_close, ends))
    many = calls.limit is CallLimit.MANY
    row, empty = (
        None if row is None else _unended_row(row, eos if many else ends)
        for row in (calls.row, calls.empty_row)
    )
    if row == calls.row or row is None:
        return calls
    # The model stops at that token, so it never writes a second call.
    limit = CallLimit.FIRST if many else calls.limit
    return structs.replace(calls, row=row, empty_row=empty, limit=limit)


def _unended_row(row: Row, ends: Sequence[str]) -> Row:
    if not row:
        return row
    *before, last = row
    if isinstance(last, RowSlot):
        return row
    text = before_end(last, ends)
    return (*before, text) if text else tuple(before)


def text_without_end(ends: Iterable[FormatLiteral], text: str) -> str:
    """Return the text of a turn up to the one of its ends that it ends with, or the whole text."""
    return before_end(text, [end.core for end in ends])


_CONTENT_STYLE = JsonStyle()
_LONG = 64


class _RuleFrame(Struct, frozen=True):
    """A turn's rules except the tools'."""

    rules: GrammarRules
    """The rules, with a reference to each call that is still to be made, e.g. "call"."""
    open: Mapping[str, bool]
    """The rules of the calls still to be made, as `CallWriter.fill` takes them, e.g. {"call":
    True}."""


_FRAMES: IdentityCache[_RuleFrame] = IdentityCache(64)
_HEADER_TAILS: IdentityCache[HeaderTail] = IdentityCache(64)


def deciding_parts(turn: TurnTree) -> tuple[object, ...]:
    """Return the parts of a turn that decide its rules: they stay the same between requests."""
    return turn.strict, turn.reasoning, turn.content, turn.ends, turn.header


def rules_of_turns(
    turns: Sequence[TurnTree],
    tools: Mapping[str, Json],
    *,
    parallel: bool = True,
    json_schema: Json = None,
    lazy: bool = False,
    free: bool = False,
    names_alone: bool = False,
    apart: bool = False,
    opaque: OpaqueTokens,
) -> GrammarRules:
    """Make the rules of a turn, or of one with the calls of either of two formats.

    `tools` gives the parameters' schema by function name. With `json_schema`, content is JSON that
    it allows. A lazy grammar begins where the calls begin; a `free` one allows what a reader reads
    beside the template's rows. No rule cuts an opaque token; `names_alone` is that of `RuleTable`.
    With `apart`, the rules of each tool are its own, and those of earlier lists are taken.
    Raises GrammarError and SchemaError.
    """
    table = RuleTable(opaque, names_alone=names_alone)
    make = partial(
        TurnRules,
        tools=tools,
        parallel=parallel,
        json_schema=json_schema,
        free=free,
        apart=apart,
        all_heads=heads_of_turns(turns, tools),
    )
    turn, *others = turns
    maker = make(turn, table=table)
    if others:
        return _either(maker, make(others[0], table=table.beside()), lazy=lazy)
    calls = maker.calls
    # Then the frame depends on the request: on the schema, or on the names of the tools.
    if json_schema is not None or (calls is not None and not calls.head):
        frame, kept = maker.frame(lazy=lazy), None
    else:
        owners = (*deciding_parts(turn), opaque)
        key = (parallel, lazy, free, names_alone, *maker.heads)
        frame = _FRAMES.of(owners, key, lambda: maker.frame(lazy=lazy))
        kept = frame.rules
    # Keep one order, whether the frame was cached or created here.
    table.rules_by_name.clear()
    table.rules_by_name.update({**frame.rules.rules_by_name, **dict.fromkeys(frame.open, NOTHING)})
    if calls is not None:
        for name, first in frame.open.items():
            calls.fill(name, first=first)
    parts = () if calls is None else (*calls.parts,)
    return GrammarRules(frame.rules.root, table.rules_by_name, table.tools, kept, parts)


def _either(one: TurnRules, other: TurnRules, *, lazy: bool) -> GrammarRules:
    """Make the rules of turns of two formats, which begin alike: they part where their calls do."""
    ways = [path for rules in (one, other) for path in rules.paths(rules.rows(lazy=lazy))]
    root = one.table.brancher.branch(ways, _stop_texts([*one.in_content, *other.in_content]))
    parts: list[RulePart] = []
    for calls in filter(None, (one.calls, other.calls)):
        for name, first in calls.open.items():
            calls.fill(name, first=first)
        parts += calls.parts
    return GrammarRules(root, one.table.rules_by_name, one.table.tools, parts=(*parts,))


def _from_calls(row: StrictRow, calls: CallFormat) -> StrictRow:
    """Leave out the part before the calls, up to where a trigger begins."""
    at = next(
        at
        for at, item in enumerate(row.items)
        if isinstance(item, PartBody) and item.part is TurnPart.CALLS
    )
    body = PartBody(TurnPart.CALLS, written_start=begun_before_lazy(row, calls))
    return StrictRow((body, *row.items[at + 1 :]), row.end)


MOST_PIECES = 100
"""Texts and parts in a row; real templates have up to 20. Any part may be missing, so that ways
grow with the square of their number, and each is a level of recursion."""


class TurnRules:
    """Makes the ways through the rows of a turn."""

    def __init__(
        self,
        turn: TurnTree,
        tools: Mapping[str, Json],
        table: RuleTable,
        *,
        parallel: bool,
        json_schema: Json,
        free: bool = False,
        apart: bool = False,
        all_heads: Sequence[str] = (),
    ) -> None:
        """Store a turn; `all_heads` begin the calls of any format that the grammar allows."""
        if turn.strict.stopped:
            raise GrammarError(
                turn.strict.stopped,
                place=END_OF_PROMPT,
                hint="end the prompt with the template's generation prompt",
            )
        self.turn = turn
        self.table = table
        self.json_schema = json_schema
        self.free = free
        self.parallel = parallel
        self._paths: dict[tuple[tuple[StrictRow, ...], bool], list[Path]] = {}
        """Cached ways to write the rest of a row: rows with different beginnings share ends."""
        calls = turn.strict.calls
        self.heads = [] if calls is None else call_heads(calls, tuple(tools))
        self._all_heads = all_heads or self.heads
        self.calls = (
            CallWriter(
                self.table,
                calls,
                tools,
                parallel=parallel,
                stops=self.call_stops(calls),
                header=self.header_tail,
                owners=(*deciding_parts(turn), table.brancher.opaque) if apart else (),
                key=(free, table.names_alone),
            )
            if calls is not None
            else None
        )

    @cached_property
    def header_tail(self) -> HeaderTail | None:
        """The rest of a header after a call's name, in any words; None if the row has it."""
        frame = channel_frame(self.turn) if self.free else None
        if frame is None:
            return None
        owners = (*deciding_parts(self.turn), self.table.brancher.opaque)
        key = frame.first, frame.last
        return _HEADER_TAILS.of(owners, key, lambda: self._header_tail(frame))

    def _header_tail(self, frame: ChannelFrame) -> HeaderTail:
        others = _stop_texts([*(end.core for end in self.turn.ends), self.turn.header.core])
        opaque = self.table.brancher.opaque
        # Any other token may occur in a header, since a model writes words of its own there.
        ended = {*opaque.eos, opaque.ids.get(frame.last)}
        kept = tuple(
            number
            for text, number in opaque.ids.items()
            if number not in ended and not any(text in other for other in others)
        )
        words = FreeProse(others, tokens=kept, may_be_empty=True, part="header")
        # The first character of these words must not continue the name.
        ways = [(frame.last,), *((begin, words, frame.last) for begin in (" ", frame.first))]
        return HeaderTail(self.table.brancher.branch(ways), frame.last)

    @cached_property
    def in_content(self) -> tuple[str, ...]:
        """The texts that end content: the marks of free text there."""
        return _stop_texts(self._content_marks)

    @cached_property
    def after_calls(self) -> tuple[str, ...]:
        """The same for content after calls, where a reader takes their closers for stray ones."""
        calls = self.turn.calls
        strays = () if calls is None else section_closers(self.turn, calls)
        return _stop_texts([*self._content_marks, *strays])

    @cached_property
    def _content_marks(self) -> Sequence[str]:
        turn, reasoning = self.turn, self.turn.reasoning
        around = [] if reasoning is None else [reasoning.open.core, reasoning.close.core]
        content = [turn.content.open, turn.content.close, *turn.content.others]
        header = [turn.header.core] if turn.header.markers else []
        ends = [end.core for end in turn.ends]
        return [*around, *(literal.core for literal in content), *header, *ends, *self._all_heads]

    @cached_property
    def in_reasoning(self) -> tuple[str, ...]:
        """The texts that end reasoning, or that a reader skips in it."""
        reasoning = self.turn.reasoning
        edges = [] if reasoning is None else [reasoning.close.core]
        if reasoning is not None and reasoning.open.is_marker:
            # A reader skips an opener that is repeated, and the text would lose it.
            edges.append(reasoning.open.core)
        return _stop_texts([*edges, *(end.core for end in self.turn.ends if end.is_marker)])

    @cached_property
    def json_content(self) -> JsonValue:
        """The content where a schema is requested."""
        reader = SchemaReader(self.json_schema, "json_schema")
        root = reader.root if isinstance(reader.root, dict) else {}
        return JsonValue(reader.alone(root), _CONTENT_STYLE)

    @cached_property
    def forgiven(self) -> tuple[str, ...]:
        """The texts that begin calls whose first marker is missing."""
        calls = self.turn.strict.calls
        return () if calls is None else _stop_texts(_forgiven(calls))

    @cached_property
    def _all_rows(self) -> tuple[StrictRow, ...]:
        if self.free:
            return free_rows(self.turn, parallel=self.parallel)
        return self.turn.strict.rows

    def rows(self, *, lazy: bool = False) -> tuple[StrictRow, ...]:
        """Return the rows that the request asks for; raises GrammarError if no row is left."""
        rows, calls = self._all_rows, self.turn.strict.calls
        if lazy and calls is not None:
            called = [row for row in rows if row.has(TurnPart.CALLS)]
            rows = tuple(dict.fromkeys(_from_calls(row, calls) for row in called))
        if self.json_schema is not None:
            # An answer without content is not JSON, and nothing follows JSON.
            rows = tuple(
                StrictRow(row.items) if row.has(TurnPart.CONTENT) else row
                for row in rows
                if row.has(TurnPart.CONTENT) or row.has(TurnPart.CALLS)
            )
        if not self.parallel:
            # After the only call that is allowed, content would be read as junk.
            rows = ended_by_calls(rows)
        pieces = max((len(row.items) for row in rows), default=0)
        if pieces > MOST_PIECES:
            raise GrammarError(
                f"the template writes a message in {pieces} pieces, and a grammar has at most"
                f" {MOST_PIECES} per turn",
                hint="write the content once",
            )
        if not rows:
            raise GrammarError(
                "the template writes no message that this request allows",
                hint="offer tools if calls are required, and use a template that writes calls",
            )
        return rows

    def frame(self, *, lazy: bool) -> _RuleFrame:
        """Make the rules that tools do not change."""
        rows = self.rows(lazy=lazy)
        root = self.table.brancher.branch(self.paths(rows), self.in_content)
        opened = {} if self.calls is None else dict(self.calls.open)
        named = {
            name: rule for name, rule in self.table.rules_by_name.items() if name not in opened
        }
        return _RuleFrame(GrammarRules(root, named), opened)

    def call_stops(self, calls: CallFormat) -> list[str]:
        """Return the texts that end an unclosed value for a reader."""
        texts = [end.core for end in self.turn.ends]
        begins = map(FormatLiteral.of, (*self.heads, calls.section_close))
        return [
            *texts,
            *(begin.first for begin in begins if FormatLiteral.of(begin.first).is_marker),
        ]

    def paths(self, rows: Sequence[StrictRow], *, called: bool = False) -> list[Path]:
        """Return the ways to write rows, or rests of rows, which may be `called`: behind calls.

        Rows that begin alike are grouped. The text after a call has to be known in one place: the
        next call parts from it.
        """
        key = tuple(rows), called
        known = self._paths.get(key)
        if known is None:
            known = self._paths[key] = self._row_paths(rows, called=called)
        return known

    def _row_paths(self, rows: Sequence[StrictRow], *, called: bool) -> list[Path]:
        alike: dict[StrictItem | None, list[StrictRow]] = {}
        for row in rows:
            alike.setdefault(row.items[0] if row.items else None, []).append(row)
        found: list[Path] = []
        for first, same in alike.items():
            if first is None:
                found += [path for row in same for path in self._end(row)]
            else:
                behind = [StrictRow(row.items[1:], row.end) for row in same]
                found += self._item(first, behind, called=called)
        return found

    def _item(self, item: StrictItem, behind: Sequence[StrictRow], *, called: bool) -> list[Path]:
        """Return the ways to write one item and the rest after it."""
        if isinstance(item, str):
            return [join_path(item, *path) for path in self.paths(behind, called=called)]
        if item.part is TurnPart.CALLS:
            if self.calls is None:
                raise GrammarError("the row has calls, the format has none")
            # A text between two sections of calls.
            texts: list[Path] = []
            if self.free and any(map(_begins_with_text, behind)):
                texts = [(self._prose(PartBody(TurnPart.CONTENT), called=True),)]
            return self.calls.ways(self.paths(behind, called=True), item.written_start, texts)
        if item.part is TurnPart.CONTENT and self.json_schema is not None:
            return [
                join_path(self.json_content, *path) for path in self.paths(behind, called=called)
            ]
        prose = self._prose(item, called=called)
        # Whitespace alone cannot close a text that may end with any whitespace: it is part of it.
        blank = [row for row in behind if not row.items and row.end.text and not row.end.core]
        others = [row for row in behind if row not in blank]
        found = [(replace(prose, space=row.end.before),) for row in blank]
        paths = self.paths(others, called=called)
        return [*found, *(join_path(prose, *path) for path in paths)]

    def _prose(self, item: PartBody, *, called: bool) -> FreeProse:
        """Return the free text of a part."""
        content = item.part is TurnPart.CONTENT
        in_content = self.after_calls if called else self.in_content
        return FreeProse(
            in_content if content else self.in_reasoning,
            self.forgiven if content else (),
            item.edges.left,
            item.edges.right,
            may_be_empty=item.begun,
            part=item.part.value,
        )

    def _end(self, row: StrictRow) -> list[Path]:
        """Return the ways to end: at once, or after the whitespace before the template's end."""
        return [(), (row.end.text,)] if row.end.text else [()]


def _begins_with_text(row: StrictRow) -> bool:
    first = row.items[0] if row.items else ""
    return isinstance(first, PartBody) and first.part is TurnPart.CONTENT


def _stop_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that a reader stops at, once each, without those that hold another.

    Of a long one, its beginning is enough; a single sign is too little to be markup.
    """
    # Each character of an excluded text is a state in GBNF.
    known = list(dict.fromkeys(text[:_LONG] for text in texts if text[1:] or text.isalnum()))
    return tuple(
        text for text in known if not any(other in text for other in known if other != text)
    )


def heads_of_turns(turns: Sequence[TurnTree], tools: Iterable[str]) -> list[str]:
    """Return the texts that begin the calls of several turns, which no content may hold.

    Empty for a single turn, which has its own.
    """
    if len(turns) == 1:
        return []
    names = tuple(tools)
    formats = (turn.strict.calls for turn in turns)
    return [head for calls in formats if calls is not None for head in call_heads(calls, names)]


def call_heads(calls: CallFormat, names: Sequence[str]) -> list[str]:
    """Return the texts that begin calls, as a reader finds them: a marker, or all up to a name."""
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
    at = row.index(RowSlot.NAME) if RowSlot.NAME in row else -1
    follows = literal_at(row, at + 1).strip()[:1]
    return [f"{head}{name}{follows}" for name in names]


def _forgiven(calls: CallFormat) -> list[str]:
    """Return the beginning of a call without its first marker: the marker before its name."""
    units = FormatLiteral.of(literal_at(calls.row, 0)).units
    # Without a name right after it, the marker does not identify a call.
    if calls.row[1:2] != (RowSlot.NAME,) or len(units) == 1:
        return []
    return [unit for unit in units[-1:] if any(map(str.isalnum, unit))]
