r"""Write the calls of a turn as ways through a grammar: one per tool, as the format writes it.

`CallWriter.ways` returns the calls of a turn: the head that all tools share, then a rule for one
call of each tool (`call_paths`), then another call or the close. The rules of the tools can be left
open and filled in later (`fill`).

Written as GBNF, the calls of two tools are, beginning with their head:

    "<tool_call>\n<function=" call more-calls
    call ::= ("get_weather>\n" get-weather-city | "rich>\n" rich-q)
    more-calls ::= ("\n<tool_call>\n<function=" call more-calls | seam)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import ContainerNotation, NamingId, Row, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_document import ROOT
from autoparser.analysis.core.schema_errors import SchemaError, raise_refused
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.parsing.turn_request import IdentityCache

from .grammar_rules import (
    NOTHING,
    JsonStyle,
    JsonValue,
    Node,
    PatternNode,
    RulePart,
    text_mark,
)
from .rule_paths import (
    Brancher,
    Item,
    Path,
    distinct_paths,
    join_path,
    leading_text,
    path_nodes,
    without_prefix,
)
from .rule_table import RuleTable
from .schema_reader import SchemaReader
from .string_ways import object_style, regex_escape
from .value_writer import ClosedEntries, ValueWriter

_OBJECT = frozenset({JsonType.OBJECT})
_NUMBER = PatternNode(r"0|[1-9][0-9]{0,8}")
_ID_CHARACTERS = "A-Za-z0-9_"
_WORD_SLICE = f"(?:_?[{_ID_CHARACTERS}])+"
"""Words in a form that only equal ones repeat: a slice found in other texts as well would leave the
rest of the slices of these to be checked."""
END_OF_PROMPT = "the end of the prompt"
"""The place of an error that another prompt avoids."""


class GrammarError(AutoparserError):
    """A grammar that cannot be made: names the place and the way out."""


class HeaderTail(NamedTuple):
    """The text of a free header after a name: any words, up to its last marker."""

    words: Node
    """Any words up to the marker, e.g. " <|constrain|>json<|message|>"."""
    last: str
    """The marker that ends a header, such as `<|message|>`."""


_KEPT: IdentityCache[tuple[list[Path], RulePart]] = IdentityCache(1024)
"""The ways to call a tool and its rules, for every list of tools that offers it."""
_FORMAT_TEXTS: IdentityCache[str] = IdentityCache(64)


class CallWriter:
    """Writes the calls of one request."""

    def __init__(
        self,
        table: RuleTable,
        calls: CallFormat,
        tools: Mapping[str, Json],
        *,
        parallel: bool,
        stops: Sequence[str],
        header: HeaderTail | None = None,
        owners: tuple[object, ...] = (),
        key: Hashable = None,
    ) -> None:
        """Store a format's calls and the tools; `stops` are texts that end a call or a turn.

        `header` is None if the template's own text alone may follow a name. If `owners` and `key`
        decide all but the tools, the rules of each tool are made apart, and kept for other lists.
        """
        self._owners, self._key = owners, key
        self.parts: dict[RulePart, None] = {}
        """The rules that were made apart."""
        self.table, self.calls, self.tools, self._header = table, calls, tools, header
        self.many = parallel and calls.limit is CallLimit.MANY
        tail = [piece for piece in _behind_arguments(calls.row) if not isinstance(piece, RowSlot)]
        closers = [TemplateLiteral.of(text).first for text in tail if text.strip()]
        # A single sign, such as a bracket, may occur in any value.
        self.stops = [text for text in (*closers, *stops) if text[1:]]
        arguments = calls.arguments
        self._members = _without_refused(arguments)
        self._style = (
            JsonStyle() if arguments.verbatim else object_style(self._members, arguments.values)
        )
        """The spacing of all of the arguments, if they are JSON."""
        self.head = _head(calls, table.brancher)
        """The beginning of every call, whatever the tool; empty if nothing precedes the name."""
        self.open: dict[str, bool] = {}
        """The rules for the text after the head, by name; True for the first call's."""
        self._call_paths: dict[bool, list[Path]] = {}
        self.closed = ClosedEntries()

    def ways(
        self, behind: Sequence[Path], section_begun: str = "", texts: Sequence[Path] = ()
    ) -> list[Path]:
        """Return the ways to write the calls of a turn, and one of the paths after them.

        `section_begun` is the part of them that the prompt has already written. `texts` may stand
        between two sections of calls.
        """
        calls = self.calls
        closed = [join_path(calls.section_close, *path) for path in behind]
        firsts = self._calls(first=True)
        if self.many:
            # The rule calls itself, so it needs a name before it is written.
            key = f"calls {closed!r} {texts!r}"
            closed = [(self.table.rule(key, "more-calls", self._more(key, closed, texts)),)]
        whole = [join_path(calls.section_open, *call, *path) for call in firsts for path in closed]
        return [_without(path, section_begun) for path in whole]

    def _more(self, key: str, closed: Sequence[Path], texts: Sequence[Path]) -> Callable[[], Node]:
        """Return the maker of the text after a call: another one, another section, or the close."""

        def make() -> Node:
            more_calls = self.table.rule(key, "more-calls", lambda: NOTHING)
            calls = self.calls
            # Text between calls already includes the whitespace there.
            spaced = bool(texts) and not f"{calls.separator}{calls.section_open}".strip()
            separator = "" if spaced else calls.separator
            # If the end of a turn closes each call but the first, an engine may stop before it.
            last = before_end(calls.later_close, self.stops)
            others = [
                path
                for call in self._calls(first=False)
                for path in (
                    join_path(separator, *call, calls.later_close, more_calls),
                    *([join_path(separator, *call, last)] if last != calls.later_close else []),
                )
            ]
            sections = [
                join_path(calls.section_close, *text, calls.section_open, *call, more_calls)
                for text in texts
                for call in self._calls(first=False)
            ]
            return self.table.brancher.branch([*others, *sections, *closed])

        return make

    def _calls(self, *, first: bool) -> list[Path]:
        """Return the ways to write one call: the shared head, then a rule for the tools."""
        # Only a number that counts calls makes the first one differ from the next.
        first = first or RowSlot.INDEX not in (*self.calls.row, *(self.calls.empty_row or ()))
        known = self._call_paths.get(first)
        if known is None:
            name = "call" if first else "next-call"
            text = self.head
            if text:
                # Left open: the frame is the same for other tools, and cached.
                rest = self.table.rule(name, name, lambda: NOTHING)
                self.open[rest.name] = first
                paths: list[Path] = [(text, rest)]
            else:
                paths = self.call_paths(first=first)
                heads = [leading_text(path) for path in paths]
                text = self.table.brancher.shared(heads) if paths else ""
                if text:
                    behind = [_without(path, text) for path in paths]
                    tools = self.table.rule(name, name, lambda: self.table.brancher.branch(behind))
                    paths = [join_path(text, tools)]
            known = self._call_paths[first] = paths
        return known

    def fill(self, name: str, *, first: bool) -> None:
        """Make the rule for the text after the head of a call, left open before."""
        behind = [_without(path, self.head) for path in self.call_paths(first=first)]
        self.table.rules_by_name[name] = self.table.brancher.branch(behind)

    def call_paths(self, *, first: bool) -> list[Path]:
        """Return the ways to call each tool.

        A tool is left out where its schema requires what the format never writes. Raises
        SchemaError for the first that is refused; it names all that are.
        """
        found: list[Path] = []
        refused: list[tuple[str, SchemaError]] = []
        for name, schema in self.tools.items():
            # The rules made meanwhile are named after the tool.
            self.table.scope = name
            try:
                ways = self._call_apart if self._owners else self.tool_paths
                found += ways(name, schema, first)
            except SchemaError as error:
                # One error for all tools: a user would otherwise mend them one by one.
                refused.append((name, error))
            finally:
                self.table.scope = ""
        raise_refused(refused)
        if not found:
            raise GrammarError(
                "each tool requires an argument of a type that this format does not write",
                place=", ".join(self.tools),
                hint="offer tools with arguments of other types, or none",
            )
        return found

    def _call_apart(self, name: str, schema: Json, first: bool) -> list[Path]:
        """Return the paths for calls of one tool, with rules of its own."""
        case = (name, repr(schema), first)

        def make() -> tuple[list[Path], RulePart]:
            maker = copy(self)
            maker.table = self.table.of_tool(name, text_mark(f"({case!r}, {self._format_text})"))
            maker.closed = ClosedEntries()
            paths = maker.tool_paths(name, schema, first)
            table = maker.table
            return paths, RulePart.of(name, path_nodes(paths), table.rules_by_name, table.parts)

        key = (*case, self._key, *self.stops)
        paths, rules = _KEPT.of(self._owners, key, make)
        self.parts[rules] = None
        return paths

    @property
    def _format_text(self) -> str:
        """All that decides the rules of a tool, but for the tool.

        A grammar may have the calls of two formats, whose rules of one tool differ.
        """

        def describe_calls() -> str:
            arguments, calls = self.calls.arguments, self.calls
            if len(arguments.refused) > 1:
                # The order of a set differs from process to process.
                kinds = tuple(sorted(arguments.refused))
                calls = replace(calls, arguments=replace(arguments, refused=kinds))
            return repr((calls, self.stops, self._header))

        return _FORMAT_TEXTS.of(self._owners, (self._key, *self.stops), describe_calls)

    def tool_paths(self, name: str, schema: Json, first: bool) -> list[Path]:
        """Return the ways to call one tool."""
        row = self.calls.row
        at = row.index(RowSlot.ARGUMENTS) if RowSlot.ARGUMENTS in row else len(row)
        head, tail = row[:at], row[at + 1 :]
        behind = literal_at(tail, 0)
        rest = self._fill_names(tail[1:] if behind else tail, name, first)
        ways = [((), False)] if at == len(row) else self._arguments(name, schema, behind)
        found = [
            join_path(*self._fill_names(head, name, first), *way, *rest)
            for way, empty in ways
            # Without arguments the template writes its other row.
            if not (empty and self.calls.empty_row is not None)
        ]
        if self.calls.empty_row is not None and any(empty for _, empty in ways):
            found.append(join_path(*self._fill_names(self.calls.empty_row, name, first)))
        return found

    def _arguments(self, name: str, schema: Json, behind: str) -> list[tuple[Path, bool]]:
        """Return the ways to write a tool's arguments, each with whether it writes no argument."""
        arguments = self.calls.arguments
        # Each quote would be escaped twice, which no writer of grammars here does.
        if arguments.encoded:
            raise GrammarError(
                "this format writes the arguments as text inside a JSON string",
                place=f"the arguments of {name}",
                hint="constrain the text inside the string with a separate grammar",
            )
        reader = SchemaReader(schema, f"the parameters of {name}")
        found = reader.resolved(reader.root)
        if self._style is not None:
            part = reader.alone(found, _OBJECT, arguments.members.order)
            whole: Node = JsonValue(part, self._style)
            shared = self.table.rule(f"arguments {name}", "arguments", lambda: whole)
            ways: list[tuple[Path, bool]] = [(join_path(shared, behind), False)]
            if self.calls.empty_row is not None and reader.allows_empty(found):
                ways.append(((), True))
            return ways
        writer = ValueWriter(self.table, reader, arguments.members.order, self.closed)
        known = SchemaPart(reader.document, reader.root)
        paths = writer.one_of(
            reader.objects(found), self._members, arguments.values, self.stops, behind, known
        )
        if not paths and None not in self._members.typed.values():
            raise SchemaError("no value satisfies this schema", pointer=ROOT)
        empty = join_path(self._members.empty, behind)
        return [(path, path == empty) for path in distinct_paths(paths)]

    def _fill_names(self, row: Row, name: str, first: bool) -> list[Item]:
        """Return a call's row with the tool's name, and patterns for its id and number."""
        items: list[Item] = []
        naming = self.calls.naming
        for at, piece in enumerate(row):
            match piece:
                case RowSlot.NAME:
                    items.append(name)
                case RowSlot.ID:
                    items.append(id_pattern(naming, name, literal_at(row, at + 1)))
                case RowSlot.INDEX:
                    # The request does not show how many calls precede the turn.
                    anew = first and not self.calls.index_goes_on
                    items.append(str(self.calls.index_base) if anew else _NUMBER)
                case _ if self._header and at and row[at - 1] is RowSlot.NAME:
                    # For example `<|channel|>commentary json<|message|>`, with `<|message|>` last.
                    begun, ended, rest = str(piece).rpartition(self._header.last)
                    free = ended and begun.strip()
                    items += [self._header.words, rest] if free else [str(piece)]
                case _:
                    items.append(str(piece))
        return items


def _head(calls: CallFormat, brancher: Brancher) -> str:
    """Return the text before the first slot of a call."""
    rows = [calls.row] if calls.empty_row is None else [calls.row, calls.empty_row]
    return brancher.shared([literal_at(row, 0) for row in rows])


def _without(path: Path, prefix: str) -> Path:
    begins = prefix and leading_text(path).startswith(prefix)
    return without_prefix(path, prefix) if begins else path


def before_end(text: str, ends: Sequence[str]) -> str:
    """Return a text up to the end that is its last word, or the whole text if none is."""
    # The template may write whitespace after the end, which the engine never sees.
    bare = text.rstrip()
    end = max((end for end in ends if end and bare.endswith(end)), key=len, default="")
    return bare.removesuffix(end) if end else text


def literal_at(row: Row, at: int) -> str:
    """Return the text at an index of a row; empty if there is a slot, or nothing."""
    piece = row[at] if 0 <= at < len(row) else ""
    return "" if isinstance(piece, RowSlot) else piece


def _behind_arguments(row: Row) -> Row:
    return row[row.index(RowSlot.ARGUMENTS) + 1 :] if RowSlot.ARGUMENTS in row else ()


def _without_refused(arguments: ArgumentFormat) -> ContainerNotation:
    """Remove the values of the types on which the template raises."""
    members = arguments.members
    if not arguments.refused:
        return members
    return replace(members, typed={**members.typed, **dict.fromkeys(arguments.refused)})


def id_pattern(naming: NamingId | None, name: str, following: str) -> PatternNode:
    """Match an id; where no name is written, the id carries it."""
    if naming is not None:
        # llguidance would count a bounded word once for each tool, and gives up at some hundreds.
        word = f"[{_ID_CHARACTERS}]+"
        regex = naming.pattern(regex_escape(name), regex_escape, word=word, number="[0-9]{1,6}")
        # If any word may precede the name, most tokens may be written: in a slice of their own.
        return PatternNode(regex, begun=() if naming.row else ((_WORD_SLICE, _WORD_SLICE),))
    more = "".join(char for char in ".:-" if not following.startswith(char))
    return PatternNode(f"[{_ID_CHARACTERS}{more}]{{1,64}}")
