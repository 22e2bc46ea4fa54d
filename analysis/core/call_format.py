r"""How tool calls are written: the section, one call, its arguments.

A call is a row of literals and slots. Of a template that writes two calls as

    <tool_calls>
    <tool>{"name": "find", "arguments": {"city": "Oslo"}}</tool>
    <tool>{"name": "stop", "arguments": {}}</tool>
    </tool_calls>

`section_open` is `"<tool_calls>\n"`, `separator` is `"\n"`, `section_close` is
`"\n</tool_calls>"`, and `row` is
`('<tool>{"name": "', NAME, '", "arguments": ', ARGUMENTS, '}</tool>')`.

Examples of fields, in all modules of this wing, are values from formats of `fixtures/templates`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from .call_notation import (
    JSON_ESCAPES,
    ContainerNotation,
    JsonFields,
    NamingId,
    Row,
    RowSlot,
    ValueNotation,
    read_json_fields,
)
from .conversation import Json, ToolCall
from .json_types import JsonType, json_type
from .text_alignment import TemplateLiteral


class CallLimit(StrEnum):
    """How a template treats a second call in one message."""

    MANY = "many calls"
    REFUSED = "one call, more are refused"
    FIRST = "one call, the first of several"
    LAST = "one call, the last of several"


class ArgumentForm(StrEnum):
    """The form of `arguments` that the template expects."""

    OBJECT = "object"
    STRING = "JSON string"


class ArgumentFormat(Struct, frozen=True):
    """How a call's arguments are written."""

    members: ContainerNotation
    r"""The notation of the arguments as a whole: their brackets, keys and separators, such as those
    of `{"city": "Oslo", "days": 3}` or of `<parameter=city>\nOslo\n</parameter>`."""
    values: ValueNotation
    """The notation of the values, and of the objects and arrays inside them, such as `"Oslo"`, `3`
    and `true`."""
    margin: str = ""
    """The indentation of the lines around the arguments, e.g. `"      "`; for indented notations.
    """
    refused: frozenset[JsonType] = frozenset()
    """The types of values on which the template raises."""
    encoded: bool = False
    r"""Whether the arguments are a JSON string with JSON text inside: `"{\"city\": \"Oslo\"}"`."""
    verbatim: bool = False
    """Whether the caller's JSON text is inserted verbatim; the notation is then the usual one, e.g.
    `True` if the template joins `arguments` to other text."""

    @property
    def is_json(self) -> bool:
        """Whether the arguments are valid JSON text."""
        whole = replace(self.values, object=self.members)
        return self.verbatim or (whole.is_json and self.members.key.escape in JSON_ESCAPES)

    @property
    def is_object(self) -> bool:
        """Whether they are one object in braces, such as `{"city": "Oslo"}`."""
        if self.verbatim or self.members.open.strip() == "{":
            return True
        return self.members.key.open == '"' and self.values.is_json

    def writes_any(self, arguments: Mapping[str, Json]) -> bool:
        """Return whether any of these arguments is written at all."""
        return any(self.members.row(json_type(value)) is not None for value in arguments.values())

    def write(self, arguments: Mapping[str, Json]) -> str:
        """Write the arguments of one call."""
        if self.verbatim:
            return json.dumps(dict(arguments), ensure_ascii=False)
        text = self.members.write(list(arguments.items()), self.values, self.margin)
        return json.dumps(text, ensure_ascii=False) if self.encoded else text


class FreeWord(Struct, frozen=True, order=True):
    """A word in a call's row that a message may replace, so a model may write another one."""

    piece: int
    """The index of the row's piece that holds the word, such as `2` for the `json` of
    `("<|call|>", NAME, ":json<|args|>", ARGUMENTS, "<|done|>")`."""
    start: int
    """The offset of the word in that piece, such as `1`."""
    end: int
    """The offset after the word, such as `5`."""


class CallFormat(Struct, frozen=True, dict=True):
    """How a message's calls are written."""

    row: Row
    r"""One call, with slots, e.g. `("<do>", NAME, "\n", ARGUMENTS, "\n</do>")`."""
    arguments: ArgumentFormat
    """How the arguments in the row's slot are written, such as `{"city": "Oslo", "days": 3}`."""
    section_open: str = ""
    r"""Before the first call, e.g. `"<tool_calls>\n"`."""
    section_close: str = ""
    r"""After the last call, e.g. `"\n</tool_calls>"`."""
    separator: str = ""
    r"""Between two calls, e.g. `"\n"` or `", "`."""
    empty_row: Row | None = None
    r"""A call without arguments, e.g. `("<do>", NAME, "\n</do>")`; None if `row` serves."""
    later_close: str = ""
    """After each call but the first, such as `"!"`, if the template closes only those."""
    index_base: int = 0
    """The index of the first call, e.g. `1`."""
    index_goes_on: bool = False
    """Whether the index counts through the conversation, so that the first call of a second turn
    may have the index `1`; else each turn begins anew."""
    limit: CallLimit = CallLimit.MANY
    """Whether a message may have several calls, e.g. `CallLimit.FIRST`."""
    id_row: Row = ()
    """The parts of an id that contains the name, such as `("f.", NAME, ":", INDEX)`; see
    `naming`."""
    free_words: tuple[FreeWord, ...] = ()
    """Words of the row that a model may replace, such as `(FreeWord(2, 1, 5),)`."""
    leads: tuple[str, ...] = ()
    """Markers that models write before the calls although no render has them, such as
    `("<|run|>", "<|picture|>")`."""

    def written_calls(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        """Return the calls that the template writes."""
        if self.limit is CallLimit.FIRST:
            return calls[:1]
        return calls[-1:] if self.limit is CallLimit.LAST else calls

    def write(self, calls: Sequence[ToolCall]) -> str:
        """Write all calls of a message, the section's markers included."""
        body = self.separator.join(
            self.write_call(call, position)
            for position, call in enumerate(self.written_calls(calls))
        )
        return f"{self.section_open}{body}{self.section_close}"

    def refused_type(self, calls: Sequence[ToolCall]) -> JsonType | None:
        """Return the type of an argument on which the template raises, or None."""
        if not self.arguments.refused:
            return None
        # A call that the template drops cannot make it raise.
        kinds = (
            json_type(value)
            for call in self.written_calls(calls)
            for value in call.arguments.values()
        )
        return next((kind for kind in kinds if kind in self.arguments.refused), None)

    def write_call(self, call: ToolCall, position: int) -> str:
        """Write one call."""
        row = self.row
        # Arguments that the template drops leave a call as if it had none.
        if self.empty_row is not None and not self.arguments.writes_any(call.arguments):
            row = self.empty_row
        pieces: list[str] = []
        for piece in row:
            match piece:
                case RowSlot.NAME:
                    pieces.append(call.name)
                case RowSlot.ID:
                    pieces.append(call.id)
                case RowSlot.INDEX:
                    pieces.append(str(self.index_base + position))
                case RowSlot.ARGUMENTS:
                    pieces.append(self.arguments.write(call.arguments))
                case _:
                    pieces.append(piece)
        # Some templates close each call after the first with one more text.
        if position:
            pieces.append(self.later_close)
        return "".join(pieces)

    @cached_property
    def json_fields(self) -> JsonFields | None:
        """The fields of a call that is one JSON value, or None if it is not JSON."""
        return read_json_fields(self.row)

    @property
    def closing(self) -> str:
        r"""The text after the last slot of the last call, such as `"\n</do>\n</tool_calls>"`."""
        # A row may end with a slot, as `id: ⟨id⟩` does; then only the section closes it.
        last = self.row[-1] if self.row and not isinstance(self.row[-1], RowSlot) else ""
        return last + self.section_close

    @property
    def opening(self) -> str:
        """The text before the first slot of the first call."""
        first = self.row[0] if self.row and not isinstance(self.row[0], RowSlot) else ""
        return self.section_open + first

    @property
    def is_marked(self) -> bool:
        """Whether a marker opens the calls, which then separates them from content."""
        return bool(TemplateLiteral.of(self.opening).markers)

    @property
    def naming(self) -> NamingId | None:
        """How ids contain the names, or None if names are written apart or ids are not written."""
        return (
            NamingId(self.id_row) if self.has(RowSlot.ID) and not self.has(RowSlot.NAME) else None
        )

    def has(self, slot: RowSlot) -> bool:
        """Whether one call's row holds this slot."""
        return slot in self.row
