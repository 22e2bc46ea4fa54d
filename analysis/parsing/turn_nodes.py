"""The node types of a turn's expression; parser, grammar and printout walk the same tree.

    build_expression (turn_expression.py)  ->  TurnTree

For example, a way to write a turn with reasoning and content:

    >>> parts = (PartBody(TurnPart.REASONING), "</think>", PartBody(TurnPart.CONTENT))
    >>> row = StrictRow(("<think>", *parts), TemplateLiteral.of("<|im_end|>"))
    >>> row.has(TurnPart.REASONING), row.has(TurnPart.CALLS), row.end.core
    (True, False, '<|im_end|>')
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.turn_parts import StrippedEdges, TurnPart


class FunctionName(Struct, frozen=True):
    """The name of a function: one of those offered, if any are."""


class SingleWord(Struct, frozen=True):
    """An id or a number, up to the next literal."""

    slot: RowSlot
    """The slot, such as `RowSlot.ID`."""


class FreeText(Struct, frozen=True):
    """A word that a template writes by default, between two literals of a row."""

    default: str
    """The word, e.g. "json" in `<|call|>look_up:json<|args|>`."""


class ArgumentList(Struct, frozen=True):
    """A call's arguments, typed by the schema of the function that was named."""

    arguments: ArgumentFormat
    """How the arguments are written, e.g. as JSON with ", " between members."""


RowItem: TypeAlias = TemplateLiteral | FreeText | FunctionName | SingleWord | ArgumentList


class RowCall(Struct, frozen=True):
    """A call that is a row of literals and slots."""

    row: tuple[RowItem, ...]
    r"""One call: literals and the parts between them, e.g. "<function=", the name, ">\n", the
    arguments and "</function>"."""
    empty_row: tuple[RowItem, ...] | None = None
    """A call without arguments, e.g. '<call name="', the name and '"/>', or None if it is the row
    with empty arguments."""
    naming: NamingId | None = None
    """How an id contains the name, e.g. "tool/", the name, "#" and the index, or None if the name
    is written apart."""
    loose_row: tuple[RowItem, ...] = ()
    """The row for a reader if a model may change words in its literals, e.g. "json" in
    `:json<|args|>`; otherwise empty."""


class JsonCallFields(JsonDocument, frozen=True):
    """The text around a call that is one JSON object, and the keys of its members."""

    before: TemplateLiteral
    """The text before the JSON, such as `<tool_call>`."""
    after: TemplateLiteral
    """The text after the JSON, such as `</tool_call>`."""
    name_is_key: bool = False
    """Whether the name is the key of the arguments, such as in `{"get_weather": {"city": "Oslo"}}`.
    """
    function_field: str = ""
    """The key of the object with name and arguments, such as `"function"`; empty if not nested."""
    name_field: str = ""
    """The key of the name, such as `"name"`."""
    arguments_field: str = ""
    """The key of the arguments, such as `"arguments"`."""
    id_field: str = ""
    """The key of the id, such as `"id"`; empty if the call has none."""


class JsonCall(JsonCallFields, frozen=True, kw_only=True):
    """A call that is one JSON object; its members come in any order."""

    name: FunctionName
    """The names that the call may have, e.g. of the offered tools."""
    arguments: ArgumentList
    """The arguments, e.g. as JSON with ", " between members."""


class CallSection(Struct, frozen=True):
    """All calls of a turn."""

    open: TemplateLiteral
    """Before the first call, such as `<tool_calls>`."""
    call: RowCall | JsonCall
    """One call, as a row, e.g. "<function=", the name and the arguments, or as a JSON object."""
    separator: TemplateLiteral
    """Between two calls, e.g. ", "."""
    close: TemplateLiteral
    """After the last call, such as `</tool_calls>`."""
    limit: CallLimit
    """Whether a message may have several calls, such as `CallLimit.FIRST`."""
    later_close: TemplateLiteral = TemplateLiteral()
    """The text that closes every call but the first, e.g. "!" in `(call f {}),(call g {})!`, in
    templates that have one."""
    space: str = ""
    r"""Whitespace that the template writes between content and calls, e.g. "\n\n"."""
    behind: str = ""
    r"""Whitespace that it writes between calls and content after them, e.g. "\n"."""
    leads: tuple[str, ...] = ()
    """Markers that are markup where they stand right before a call, e.g. ("<|run|>",)."""
    single: bool = False
    """Whether the request allows one call only, e.g. with `parallel_tool_calls=False`; others are
    junk."""


class TurnStart(StrEnum):
    """Where in the turn the prompt has ended."""

    TURN = "at the turn's beginning"
    HEADER = "after the header"
    REASONING = "in the reasoning"
    CONTENT = "after the reasoning"


class PartBody(Struct, frozen=True):
    """A part of the message in a row, and the edges that the template strips from it."""

    part: TurnPart
    """The part, such as `TurnPart.CONTENT`."""
    edges: StrippedEdges = StrippedEdges()
    """The whitespace that the template strips from it, e.g. `EdgeStrip.WHITESPACE` at both."""
    written_start: str = ""
    """The beginning of it that the prompt has already written, e.g. ">>>"."""
    begun: bool = False
    """Whether the prompt has written a part of it, e.g. "Sure", so that the rest may be empty."""


StrictItem: TypeAlias = str | PartBody


class StrictRow(Struct, frozen=True):
    """One way to write a turn: texts and parts in order, and the end."""

    items: tuple[StrictItem, ...]
    """Literals, and the parts between them, e.g. "<think>", the reasoning and "</think>"."""
    end: TemplateLiteral = TemplateLiteral()
    """The end that the template writes, e.g. "<|im_end|>"; a model may stop before it."""

    def has(self, part: TurnPart) -> bool:
        """Return whether the row writes this part."""
        return any(isinstance(item, PartBody) and item.part is part for item in self.items)


class StrictTurn(Struct, frozen=True):
    """Everything that a strict writer may write for one request."""

    rows: tuple[StrictRow, ...] = ()
    """The rows that a turn may have, e.g. content alone, and reasoning before content."""
    calls: CallFormat | None = None
    """How calls are written if a row has any, e.g. '<invoke name="', the name and the arguments, or
    None if the format has none."""
    free: tuple[StrictRow, ...] | None = None
    """The rows of a free answer if the prompt has continued a message, e.g. with content after
    calls; None if they are to be made of `rows`."""
    start: TurnStart | None = None
    """Where in the turn the rows begin if the prompt has continued a message, e.g.
    `TurnStart.CONTENT` after "<think></think>Sure"; None if they begin as the turn does."""
    stopped: str = ""
    """Why nothing can be written after the prompt, e.g. "the prompt ends inside a tool call"."""


class TurnTree(Struct, frozen=True):
    """A whole turn."""

    start: TurnStart
    """Where in the turn the prompt has ended, e.g. `TurnStart.HEADER`."""
    header: TemplateLiteral
    """The text before every turn, such as `<|im_start|>assistant`."""
    reasoning: MarkerBlock | None
    """The markers around reasoning, e.g. "<think>" and "</think>", or None if the format has
    none."""
    content: MarkerBlock
    """The markers around content, e.g. "<answer>" and "</answer>"; they may be empty."""
    calls: CallSection | None
    """The section of calls, e.g. rows between "<tool_calls>" and "</tool_calls>", or None if the
    format has none."""
    ends: tuple[TemplateLiteral, ...]
    """The ends of turns, such as `<|im_end|>`."""
    unwritten: str = ""
    r"""Whitespace after the opening in the prompt, e.g. "\n", which the prompt leaves to the
    model."""
    lead: str = ""
    r"""Whitespace that the template writes between the header and content, e.g. "\n"."""
    goes_on: bool = False
    """Whether an end of the turn, e.g. "<|im_end|>", may also occur inside it, with another header
    after it."""
    tail: str = ""
    r"""Whitespace that ends the turn if nothing else does, e.g. "\n\n"."""
    json: bool = False
    """Whether the answer is JSON, e.g. with `json_schema`."""
    prefill: str = ""
    """The beginning of the message that the prompt has already written, e.g. ">>>"."""
    continues: bool = False
    """Whether the prompt has written more of the message than its generation prompt, e.g. "Sure";
    `strict` then has the rows of the whole message, from its beginning."""
    strict: StrictTurn = StrictTurn()
    """The rows that a strict writer may write, e.g. content and then calls."""
    offered: frozenset[str] | None = None
    """The offered tools, e.g. {"get_weather"}, or None if any may be called."""
    schemas: Mapping[str, Json] = {}
    """JSON schema of the parameters by function name, e.g. {"get_weather": {"type": "object"}}; the
    nodes do not depend on it."""

    @property
    def rows_start(self) -> TurnStart:
        """Where in the turn the rows of `strict` begin."""
        return self.strict.start or self.start
