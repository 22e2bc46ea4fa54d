"""How tool calls are written: the section, one call, its arguments."""

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
    json_fields_of,
)
from .conversation import Json, ToolCall
from .schema_keywords import JsonType, type_of
from .text_alignment import TemplateLiteral


class CallLimit(StrEnum):
    """What becomes of a second call in one message."""

    MANY = "many calls"
    REFUSED = "one call, more are refused"
    FIRST = "one call, the first of several"
    LAST = "one call, the last of several"


class ArgumentForm(StrEnum):
    """In which form a template wants `arguments`."""

    OBJECT = "object"
    STRING = "JSON string"


class ArgumentFormat(Struct, frozen=True):
    """How a call's arguments are written."""

    members: ContainerNotation
    """Its keys, its separators, and how the values are written."""
    values: ValueNotation
    margin: str = ""
    """What the lines around the arguments begin with; only indented notations use it."""
    refused: frozenset[JsonType] = frozenset()
    """Types of values on which the template raises."""
    encoded: bool = False
    """The whole is JSON text inside a JSON string."""
    verbatim: bool = False
    """The caller's own JSON text is pasted; the notation is then what callers usually send."""

    @property
    def is_json(self) -> bool:
        """Whether names and values come out as JSON, so that a JSON reader reads them back."""
        whole = replace(self.values, object=self.members)
        return self.verbatim or (whole.is_json and self.members.key.escape in JSON_ESCAPES)

    @property
    def is_object(self) -> bool:
        """Whether they are one object in braces, such as `{"city": "Oslo"}`."""
        pasted = self.values.is_json and self.members.key.open == '"'
        return self.verbatim or self.members.open.strip() == "{" or pasted

    def writes_any(self, arguments: Mapping[str, Json]) -> bool:
        """Return whether any of these arguments is written at all."""
        return any(self.members.row(type_of(value)) is not None for value in arguments.values())

    def write(self, arguments: Mapping[str, Json]) -> str:
        """Write the arguments of one call."""
        if self.verbatim:
            return json.dumps(dict(arguments), ensure_ascii=False)
        text = self.members.write(list(arguments.items()), self.values, self.margin)
        return json.dumps(text, ensure_ascii=False) if self.encoded else text


class FreeWord(Struct, frozen=True, order=True):
    """A word of a call that a template writes by default.

    A message may say another one, and so may a model.
    """

    piece: int
    """Which piece of the row holds it."""
    start: int
    end: int


class CallFormat(Struct, frozen=True, dict=True):
    """How a message's calls are written."""

    row: Row
    """One call: literals and the slots for name, id, index and arguments."""
    arguments: ArgumentFormat
    section_open: str = ""
    section_close: str = ""
    separator: str = ""
    empty_row: Row | None = None
    """A call without arguments, where it is not `row` with empty arguments."""
    later_close: str = ""
    """Written after every call but the first, where a template closes only those."""
    index_base: int = 0
    index_goes_on: bool = False
    """Whether calls are counted through the conversation; else each turn counts its own."""
    limit: CallLimit = CallLimit.MANY
    id_row: Row = ()
    """How an id carries the name, where a render shows that; see `naming`."""
    free_words: tuple[FreeWord, ...] = ()
    """Words of the row that a model may write otherwise."""
    leads: tuple[str, ...] = ()
    """Markers that no turn is written with, and that may stand right before the calls."""

    def written_calls(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        """Return the calls that reach the text."""
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
        kinds = (
            type_of(value)
            for call in self.written_calls(calls)
            for value in call.arguments.values()
        )
        return next((kind for kind in kinds if kind in self.arguments.refused), None)

    def write_call(self, call: ToolCall, position: int) -> str:
        """Write one call."""
        row = self.row
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
        if position:
            pieces.append(self.later_close)
        return "".join(pieces)

    @cached_property
    def json_fields(self) -> JsonFields | None:
        """The fields of a call that is one JSON value; None where it is not one."""
        return json_fields_of(self.row)

    @property
    def opening(self) -> str:
        """What all calls begin with, up to the first slot of the first one."""
        first = self.row[0] if self.row and not isinstance(self.row[0], RowSlot) else ""
        return self.section_open + first

    @property
    def is_marked(self) -> bool:
        """Whether a marker opens the calls, so that nothing else has to tell them from content."""
        return bool(TemplateLiteral.of(self.opening).markers)

    @property
    def naming(self) -> NamingId | None:
        """How ids carry the names; None where a name is written apart, or no id is."""
        return (
            NamingId(self.id_row) if self.has(RowSlot.ID) and not self.has(RowSlot.NAME) else None
        )

    def has(self, slot: RowSlot) -> bool:
        """Whether one call's row holds this slot."""
        return slot in self.row
