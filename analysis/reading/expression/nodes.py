"""The expression of a turn: a tree of few node types that parser, grammar and printout walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import (
    Arguments,
    Block,
    CallFormat,
    CallLimit,
    Edges,
    Literal,
    NamingId,
    Part,
    Slot,
)


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a function; one of those offered, where any are."""

    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """An id or a number, up to the next literal."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class FreeText:
    """A word that a template writes by default, between two literals of a row."""

    default: str


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """A call's arguments, typed by the schema of the function that was named."""

    arguments: Arguments
    schemas: Mapping[str, Json]
    """Parameters' JSON schema by function name."""


RowItem: TypeAlias = Literal | FreeText | Name | Word | ArgumentList


@dataclass(frozen=True, slots=True)
class RowCall:
    """A call that is literals and slots in a row."""

    row: tuple[RowItem, ...]
    empty_row: tuple[RowItem, ...] | None = None
    naming: NamingId | None = None
    """How an id carries the name; None where the name is written apart."""
    loose_row: tuple[RowItem, ...] = ()
    """The row for a reader, where a model may write words in its literals otherwise; else empty."""


@dataclass(frozen=True, slots=True)
class JsonCall:
    """A call that is one JSON object; its members come in any order."""

    before: Literal
    name: Name
    arguments: ArgumentList
    after: Literal
    name_is_key: bool = False
    function_field: str = ""
    name_field: str = ""
    arguments_field: str = ""
    id_field: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """All calls of a turn."""

    open: Literal
    call: RowCall | JsonCall
    separator: Literal
    close: Literal
    limit: CallLimit
    later_close: Literal = field(default_factory=Literal)
    """What closes every call but the first, in templates that do so."""
    space: str = ""
    """Whitespace that the template writes between content and calls."""
    behind: str = ""
    """Whitespace that it writes between calls and content after them."""
    leads: tuple[str, ...] = ()
    """Markers that are markup where they stand right before a call."""
    single: bool = False
    """The request allows one call; more are junk."""


class Start(StrEnum):
    """Where in the turn the prompt has ended."""

    TURN = "at the turn's beginning"
    HEADER = "after the header"
    REASONING = "in the reasoning"
    CONTENT = "after the reasoning"


@dataclass(frozen=True, slots=True)
class Body:
    """A part of the message in its place in a row, and what the template strips from it."""

    part: Part
    edges: Edges = field(default_factory=Edges)
    begun: str = ""
    """What of it the prompt has already written."""


StrictItem: TypeAlias = str | Body


@dataclass(frozen=True, slots=True)
class StrictRow:
    """One way to write a turn: texts and parts in order, and what ends it."""

    items: tuple[StrictItem, ...]
    end: Literal = field(default_factory=Literal)
    """The end that the template writes; a model may stop before it."""

    def has(self, part: Part) -> bool:
        """Whether the row writes this part."""
        return any(isinstance(item, Body) and item.part is part for item in self.items)


@dataclass(frozen=True, slots=True)
class Strict:
    """Everything that a strict writer may write for one request."""

    rows: tuple[StrictRow, ...] = ()
    calls: CallFormat | None = None
    """How calls are written, if a row has any; None: the format has none."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A whole turn."""

    start: Start
    header: Literal
    reasoning: Block | None
    content: Block
    calls: Section | None
    ends: tuple[Literal, ...]
    unwritten: str = ""
    """Whitespace after what the prompt has opened, which it has left to the model."""
    lead: str = ""
    """Whitespace that the template writes between the header and content."""
    goes_on: bool = False
    """What ends a turn may also stand inside it, with another header after it."""
    tail: str = ""
    """Whitespace that ends the turn, where nothing else does."""
    json: bool = False
    """The answer is JSON."""
    prefill: str = ""
    """What the prompt has already written of the message itself."""
    strict: Strict = field(default_factory=Strict)
    """What a strict writer may write."""
