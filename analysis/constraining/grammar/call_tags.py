"""The calls of a request in a structural tag: one grammar for all of them.

It is in xgrammar's EBNF. What tools have alike, such as a text up to its close, is one rule in it,
which xgrammar compiles once: a tag for each tool repeated the states of such texts in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, CallLimit
from autoparser.analysis.loading.tokens import OpaqueTokens

from .call_writer import CallWriter
from .gbnf import GbnfWriter
from .gbnf_table import SchemaTable
from .json_schema import literal
from .paths import Path, without
from .rules import (
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    JsonValue,
    Node,
    Prose,
    Ref,
    RepeatNode,
    SequenceNode,
)
from .table import RuleTable

TagFormat: TypeAlias = dict[str, Json]
"""One of the formats that a structural tag is made of."""


class CallTags:
    """Writes the calls of one request."""

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
        table = RuleTable(OpaqueTokens(), names_alone=True)
        writer = self._writer(table, self.tools, parallel=self.many)
        root = table.brancher.branch(writer.ways([()], begun))
        for name, first in writer.open.items():
            writer.fill(name, first=first)
        return _grammar(root, table.named)

    def section(self) -> TagFormat | None:
        """Write all calls as one tag; None where no section opens before them and closes after."""
        opened = self.calls.section_open
        if not opened.strip() or not self.calls.section_close.strip():
            return None
        return _tag(opened.lstrip(), self.whole(opened))

    def single(self, triggers: Sequence[str]) -> list[TagFormat]:
        """Write tags of one call each, which may stand anywhere in free text.

        It is one tag for all tools where they begin alike with one of the triggers.
        """
        whole = self._alike(self.tools)
        if any(str(whole["begin"]).startswith(trigger) for trigger in triggers):
            return [whole]
        return [self._alike({name: schema}) for name, schema in self.tools.items()]

    def _alike(self, tools: Mapping[str, Json]) -> TagFormat:
        """Write one call of any of some tools as a tag: what they begin with, and the rest."""
        table = RuleTable(OpaqueTokens(), names_alone=True)
        paths = self._writer(table, tools, parallel=False).each(first=False)
        begin = table.brancher.shared([_text(path) for path in paths])
        rests = [without(path, begin) if begin else path for path in paths]
        return _tag(begin.lstrip(), _grammar(table.brancher.branch(rests), table.named))

    def _writer(self, table: RuleTable, tools: Mapping[str, Json], *, parallel: bool) -> CallWriter:
        return CallWriter(table, self.calls, tools, parallel=parallel, stops=self._stops)


def _tag(begin: str, content: TagFormat) -> TagFormat:
    return {"type": "tag", "begin": begin, "content": content, "end": ""}


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


class _TagTable(SchemaTable):
    """Rules as xgrammar reads them: no pattern needs to be kept from being read as a whole.

    A name that is none of the declared ones takes a state for each of their characters, and each
    state takes xgrammar some 50 ms to compile. So objects are open only where their schema says so.
    """

    names_alone = True

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
        return literal(text)

    def any_text_but(self, texts: Sequence[str]) -> str:
        kept_out = ", ".join(map(literal, texts))
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
