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
from .gbnf import write_gbnf
from .gbnf_table import SchemaTable
from .paths import Item, Path, without
from .rules import (
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    JsonValue,
    Node,
    PatternNode,
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
        calls = self.calls
        opened = calls.section_open.removeprefix(begun)
        begun = begun.removeprefix(calls.section_open)
        first = [
            {**tag, "begin": str(tag["begin"]).removeprefix(begun)} for tag in self.each(first=True)
        ]
        return in_row(
            [constant(opened), either(first), *self._more(), constant(calls.section_close)]
        )

    def each(self, *, first: bool) -> list[TagFormat]:
        """Write the call of each tool, as the first of a section or as a later one."""
        return [self._tag(name, schema, first) for name, schema in self.tools.items()]

    def section(self) -> TagFormat | None:
        """Write all calls as one tag; None where no section opens before them and closes after."""
        calls = self.calls
        if not calls.section_open.strip() or not calls.section_close.strip():
            return None
        content = in_row([either(self.each(first=True)), *self._more()])
        begin = calls.section_open.lstrip()
        return {"type": "tag", "begin": begin, "content": content, "end": calls.section_close}

    def _more(self) -> list[TagFormat]:
        """Write the calls after the first one."""
        if not self.many:
            return []
        calls = self.calls
        numbered = Slot.INDEX in (*calls.row, *(calls.empty_row or ()))
        later = either(self.each(first=not numbered))
        again = in_row([constant(calls.separator), later, constant(calls.later_close)])
        return [{"type": "star", "content": again}]

    def _tag(self, name: str, schema: Json, first: bool) -> TagFormat:
        table = RuleTable(OpaqueTokens())
        writer = CallWriter(table, self.calls, {name: schema}, parallel=False, stops=self._stops)
        paths = writer.each(first=first)
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


def json_tag(value: JsonValue) -> TagFormat:
    """Write a JSON value as a grammar of its own, in the spacing of the format.

    xgrammar 0.2.8 reads a ``json_schema`` otherwise than the other forms do: an object that says
    nothing of other members has none, a string with a length or a pattern has no escapes, of a
    format and a pattern one is held, and what it does not know it leaves out in silence.
    """
    return _grammar(value, {})


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
        case JsonValue():
            return json_tag(item)
        case Ref(name):
            return _simple(named[name], named)
        case _:
            return None


def _grammar(root: Node, named: Mapping[str, Node]) -> TagFormat:
    """Write a node as a grammar in GBNF, with the rules that it needs."""
    needed: dict[str, Node] = {}
    waiting = [root]
    while waiting:
        for name in _names(waiting.pop()):
            if name not in needed:
                needed[name] = named[name]
                waiting.append(named[name])
    return {"type": "grammar", "grammar": write_gbnf(GrammarRules(root, needed), SchemaTable())}


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
