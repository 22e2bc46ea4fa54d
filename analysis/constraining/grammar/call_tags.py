"""The calls of a request as tags of a structural tag: a begin, what stands within, an end.

Arguments that are JSON are a schema; those in another notation, ids and numbers are a grammar or
a regular expression. Of ``<call=now>{"zone": "UTC"}</call>`` the begin is ``<call=now>``, the
content the schema of the function's parameters, and the end ``</call>``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, CallLimit, Slot
from autoparser.analysis.loading.tokens import OpaqueTokens

from .call_writer import CallWriter
from .gbnf import GbnfWriter, gbnf_literal
from .gbnf_table import SchemaTable
from .paths import Item, Path, without
from .rules import (
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    JsonValue,
    Node,
    PatternNode,
    Prose,
    Ref,
    RepeatNode,
    SequenceNode,
)
from .table import RuleTable

_NEEDLESS = re.compile(r"\\([^\w\\^$.*+?()\[\]{}|/-])")
"""Escapes of signs that mean nothing to a regular expression; xgrammar warns of them."""

TagFormat: TypeAlias = dict[str, Json]
"""One of the formats that a structural tag is made of."""


class CallTags:
    """Writes the calls of one request as tags."""

    def __init__(
        self,
        calls: CallFormat,
        tools: Mapping[str, Json],
        *,
        parallel: bool,
        stops: Sequence[str],
    ) -> None:
        """Take a format's calls and the tools; `stops` are texts that end a call or a turn."""
        self.calls, self.tools, self._stops = calls, tools, stops
        self.many = parallel and calls.limit is CallLimit.MANY

    def whole(self, begun: str = "") -> TagFormat:
        """Write the section of calls without what the prompt has `begun` of it."""
        if self._is_grammar:
            return self._calls(begun)
        calls = self.calls
        opened = calls.section_open.removeprefix(begun)
        begun = begun.removeprefix(calls.section_open)
        return in_row([constant(opened), *self._row(begun), constant(calls.section_close)])

    def single(self, triggers: Sequence[str]) -> list[TagFormat]:
        """Write tags of one call each, which may stand anywhere in free text.

        Calls in a notation of their own are one tag, where a trigger begins all of them.
        """
        if self._is_grammar:
            table = RuleTable(OpaqueTokens())
            paths = self._writer(table, self.tools, parallel=False).each(first=False)
            begin = table.brancher.shared([_text(path) for path in paths])
            if any(begin.lstrip().startswith(trigger) for trigger in triggers):
                behind = table.brancher.branch([without(path, begin) for path in paths])
                return [_tag(begin, _grammar(behind, table.named))]
        return self.each(first=False)

    def each(self, *, first: bool) -> list[TagFormat]:
        """Write the call of each tool, as the first of a section or as a later one."""
        return [self._tag(name, schema, first) for name, schema in self.tools.items()]

    def section(self) -> TagFormat | None:
        """Write all calls as one tag; None where no section opens before them and closes after."""
        calls = self.calls
        if not calls.section_open.strip() or not calls.section_close.strip():
            return None
        begin = calls.section_open.lstrip()
        if self._is_grammar:
            return _tag(begin, self._calls(calls.section_open))
        content = in_row(self._row())
        return _tag(begin, content, calls.section_close)

    @property
    def _is_grammar(self) -> bool:
        """Whether arguments are written in a notation of their own: then all calls are one grammar.

        What tools have alike, such as a text up to its close, is one rule there, which xgrammar
        compiles once.
        """
        return not CallWriter.writes_json(self.calls) and not self.calls.arguments.encoded

    def _calls(self, begun: str) -> TagFormat:
        """Write all calls as one grammar, without what is `begun` of them."""
        table = RuleTable(OpaqueTokens())
        writer = self._writer(table, self.tools, parallel=self.many)
        root = table.brancher.branch(writer.ways([()], begun))
        for name, first in writer.open.items():
            writer.fill(name, first=first)
        return _grammar(root, table.named)

    def _writer(self, table: RuleTable, tools: Mapping[str, Json], *, parallel: bool) -> CallWriter:
        return CallWriter(table, self.calls, tools, parallel=parallel, stops=self._stops)

    def _row(self, begun: str = "") -> list[TagFormat]:
        """Write the calls of a section, the first one without what is `begun` of it."""
        calls = self.calls
        first = self.each(first=True)
        numbered = Slot.INDEX in (*calls.row, *(calls.empty_row or ()))
        if self.many and not (numbered or begun or calls.later_close) and calls.separator:
            separated: TagFormat = {"type": "tags_with_separator", "tags": [*first]}
            return [{**separated, "separator": calls.separator, "at_least_one": True}]
        first = [{**tag, "begin": str(tag["begin"]).removeprefix(begun)} for tag in first]
        if not self.many:
            return [either(first)]
        later = either(self.each(first=not numbered))
        again = in_row([constant(calls.separator), later, constant(calls.later_close)])
        return [either(first), {"type": "star", "content": again}]

    def _tag(self, name: str, schema: Json, first: bool) -> TagFormat:
        table = RuleTable(OpaqueTokens())
        paths = self._writer(table, {name: schema}, parallel=False).each(first=first)
        begin = table.brancher.shared([_text(path) for path in paths])
        rests = [without(path, begin) if begin else path for path in paths]
        rows = [[_simple(item, table.named) for item in rest] for rest in rests]
        end = ""
        if len(rests) == 1 and rests[0] and isinstance(rests[0][-1], str):
            end = rests[0][-1]
            rows[0].pop()
            rests = [rests[0][:-1]]
        if all(item is not None for row in rows for item in row):
            content = either([in_row([item for item in row if item]) for row in rows])
        else:
            content = _grammar(table.brancher.branch(rests), table.named)
        return _tag(begin, content, end)


def _tag(begin: str, content: TagFormat, end: str = "") -> TagFormat:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def constant(text: str) -> TagFormat:
    """Write a fixed text."""
    return {"type": "const_string", "value": text}


def in_row(elements: Sequence[TagFormat]) -> TagFormat:
    """Put formats one after the other, and leave out empty texts."""
    found: list[Json] = [each for each in elements if each != constant("")]
    match found:
        case []:
            return constant("")
        case [dict(only)]:
            return only
        case _:
            return {"type": "sequence", "elements": found}


def either(options: Sequence[TagFormat]) -> TagFormat:
    """Write one of several formats."""
    found: list[Json] = []
    for option in options:
        if option not in found:
            found.append(option)
    return {"type": "or", "elements": found} if len(found) > 1 else options[0]


def _text(path: Path) -> str:
    head = path[0] if path else ""
    return head if isinstance(head, str) else ""


def _simple(item: Item, named: Mapping[str, Node]) -> TagFormat | None:
    """Write what stands in a call without a grammar; None where that takes one."""
    match item:
        case str():
            return constant(item)
        case PatternNode(regex, but_not) if not but_not:
            return {"type": "regex", "pattern": _NEEDLESS.sub(r"\1", regex)}
        case JsonValue(schema):
            return {"type": "json_schema", "json_schema": schema}
        case Ref(name):
            return _simple(named[name], named)
        case _:
            return None


class _TagTable(SchemaTable):
    """Rules as xgrammar reads them: no pattern needs to be kept from being read as a whole."""

    @property
    def seam(self) -> str:
        return '""'

    def text(self, root: str) -> str:
        return "".join(f"{name} ::= {body}\n" for name, body in (("root", root), *self))


class _TagWriter(GbnfWriter):
    """Writes rules as xgrammar's EBNF, which can say "any text but these" (``TagDispatch``)."""

    def is_common(self, prose: Prose) -> bool:
        del prose
        return True

    def close(self, text: str) -> str:
        return gbnf_literal(text)

    def any_text_but(self, texts: Sequence[str]) -> str:
        kept_out = ", ".join(map(gbnf_literal, texts))
        return f"TagDispatch(loop_after_dispatch=false, excludes=({kept_out}))"


def _grammar(root: Node, named: Mapping[str, Node]) -> TagFormat:
    """Write a node as a grammar in GBNF, with the rules that it needs."""
    needed: dict[str, Node] = {}
    waiting = [root]
    while waiting:
        for name in _names(waiting.pop()):
            if name not in needed:
                needed[name] = named[name]
                waiting.append(named[name])
    return {
        "type": "grammar",
        "grammar": _TagWriter(GrammarRules(root, needed), _TagTable()).write(),
    }


def _names(node: Node) -> list[str]:
    match node:
        case Ref(name):
            return [name]
        case SequenceNode(nodes) | ChoiceNode(nodes):
            return [name for each in nodes for name in _names(each)]
        case RepeatNode(inner):
            return _names(inner)
        case FreeTextNode(exits):
            return [name for exit_ in exits for name in _names(exit_.then)]
        case _:
            return []
