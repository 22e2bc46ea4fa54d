"""The format of a turn, as it is told."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, convert
from msgspec.structs import asdict

from autoparser.analysis.core.call_format import (
    ArgumentForm,
    ArgumentFormat,
    CallFormat,
    CallLimit,
    FreeWord,
)
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    MemberOrder,
    Row,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.documents import Count, JsonDocument, SettingValues
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_format import StringText, StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import (
    PromptProgress,
    ReasoningRetention,
    TurnEnd,
    TurnOpening,
)
from autoparser.analysis.core.verdicts import EvidenceKind

# How values are written, as it is told: rows, containers, notations.


ONE = Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
"""Of a document's object that has one of its keys."""


class PieceDocument(JsonDocument, frozen=True):
    """A literal or a slot."""

    literal: str | UnsetType = UNSET
    slot: RowSlot | UnsetType = UNSET


RowDocument = Annotated[
    tuple[Annotated[PieceDocument, ONE], ...],
    Meta(description="Literals and slots, in the order they are written."),
]


class ContainerDocument(JsonDocument, frozen=True):
    """How an array or an object is written."""

    open: str
    close: str
    separator: str
    empty: str
    """Written in its place where it has no entries."""
    entry: RowDocument
    """One item or member."""
    typed: dict[JsonType, RowDocument | None]
    """Entries written otherwise because of their value's type; null: not written."""
    key: StringText
    order: MemberOrder
    indent: str
    """What one level adds to the beginning of a line; empty: all on one line."""
    values: NotationDocument | None
    """How the values inside are written; null: like the value that holds them."""


class NotationDocument(JsonDocument, frozen=True):
    """How a value of each JSON type is written."""

    string: StringText
    true: str
    false: str
    null: str
    array: ContainerDocument
    object: ContainerDocument
    number: StringText
    """What stands around a number."""


def row_document(row: Row) -> tuple[PieceDocument, ...]:
    """Return a row as literals and slots."""
    return tuple(
        PieceDocument(slot=piece) if isinstance(piece, RowSlot) else PieceDocument(literal=piece)
        for piece in row
    )


def container_document(container: ContainerNotation) -> ContainerDocument:
    """Say how an array or an object is written."""
    return ContainerDocument(
        container.open,
        container.close,
        container.separator,
        container.empty,
        row_document(container.entry),
        {kind: None if row is None else row_document(row) for kind, row in container.typed.items()},
        container.key,
        container.order,
        container.indent,
        None if container.values is None else notation_document(container.values),
    )


def notation_document(notation: ValueNotation) -> NotationDocument:
    """Say how a value of each type is written."""
    return NotationDocument(
        notation.string,
        notation.true,
        notation.false,
        notation.null,
        container_document(notation.array),
        container_document(notation.object),
        notation.number,
    )


_Before = Annotated[str, Meta(extra_json_schema={"enum": ["start", *TurnPart]})]
_After = Annotated[str, Meta(extra_json_schema={"enum": [*TurnPart, "end"]})]


class OpeningDocument(JsonDocument, frozen=True):
    """The generation prompt under one setting of the switches."""

    setting: SettingValues
    text: str
    """The generation prompt."""
    written: PromptProgress
    """How much of the turn it has written."""
    tools: bool
    """False: so it is only where no tools are offered."""
    signs: tuple[str, ...] = ()
    """Texts further up in the prompt, each of which prompts of some other format do not have."""
    stands_for: str | None = None
    """Behind earlier turns: the beginning of a turn behind a user's message that the text amounts
    to; null: the text itself."""


class PresenceDocument(JsonDocument, frozen=True):
    """Which parts a message has."""

    reasoning: bool
    content: bool
    calls: bool


class LayoutEdgesDocument(JsonDocument, frozen=True):
    """What the texts of a turn lose."""

    reasoning: StrippedEdges
    content: StrippedEdges


class LayoutDocument(JsonDocument, frozen=True):
    """How a turn with these parts is laid out: literals[0] parts[0] literals[1] …."""

    presence: PresenceDocument
    parts: tuple[TurnPart, ...]
    literals: Annotated[tuple[str, ...], Meta(min_length=1)]
    edges: LayoutEdgesDocument
    refusal: str | None
    """The template's words where it refuses such a message."""


class JointLiteralDocument(JsonDocument, frozen=True):
    """A literal between two neighbours."""

    text: str
    presences: tuple[PresenceDocument, ...]
    """In which messages."""


class JointDocument(JsonDocument, frozen=True):
    """What stands between two neighbours, over all layouts in which they are neighbours."""

    before: _Before
    after: _After
    literals: tuple[JointLiteralDocument, ...]


class ArgumentsDocument(JsonDocument, frozen=True):
    """How a call's arguments are written."""

    verbatim: bool
    """The caller's own JSON text is pasted."""
    encoded: bool
    """The whole is JSON text inside a JSON string."""
    margin: str
    """What the lines around the arguments begin with."""
    refused: tuple[JsonType, ...]
    """Types of values on which the template raises."""
    members: ContainerDocument
    """The arguments as a whole."""
    values: NotationDocument


class CallsDocument(JsonDocument, frozen=True):
    """How a message's calls are written."""

    section_open: str
    section_close: str
    separator: str
    row: RowDocument
    """One call."""
    empty_row: RowDocument | None
    """A call without arguments, where it is not the row with empty arguments."""
    later_close: str
    """Written after every call but the first."""
    index_base: Count
    """The index of the first call."""
    limit: CallLimit
    id_row: RowDocument
    """How an id carries the name, where nothing else of a call does and a render shows it; its slot
    `id` is a word of which no render tells. Empty: none shows it, or the name is written apart."""
    leads: tuple[str, ...]
    """Markers that no turn is written with, and that may stand right before the calls."""
    free_words: tuple[FreeWord, ...]
    """Words of the row that a model may write otherwise, since the template takes them from a field
    where a message has it: which literal of the row, counted from 0, and where in it."""
    arguments: ArgumentsDocument
    index_goes_on: bool = False
    """Whether the index counts calls through the conversation; else each turn counts its own."""


class TurnDocument(JsonDocument, frozen=True):
    """How turns are written under one setting of the switches: all that `write()` reads."""

    header: str
    """What begins every turn."""
    openings: tuple[OpeningDocument, ...]
    layouts: tuple[LayoutDocument, ...]
    calls: CallsDocument | None
    ends: tuple[TurnEnd, ...]
    stop_strings: tuple[str, ...]
    argument_form: ArgumentForm
    """How the template wants arguments."""
    setting: SettingValues
    """The switches under which the layouts were seen."""
    reasoning_open: str
    """What opens reasoning, where no turn shows it but a generation prompt or its words do."""
    reasoning_close: str
    """What closes it there."""
    reasoning_cut: str | None
    """Where reasoning is only cut out of the content: all up to and with this is lost."""
    elsewhere: tuple[TurnPart, ...]
    """Parts that turns under these settings never have, but those under others do."""
    evidence: dict[TurnPart, EvidenceKind]
    """What is the evidence for each part: renders, examples, outputs, or the prompt's words."""
    retention: ReasoningRetention
    """Whether an earlier turn's reasoning is still in the prompt; null: could not be observed."""
    later_openings: tuple[OpeningDocument, ...] = ()
    """What prompts end with behind a call's result, or behind more turns, where no opening does."""


class FormatDocument(TurnDocument, frozen=True, kw_only=True):
    """How turns are written under one setting of the switches, and what follows from it."""

    joints: tuple[JointDocument, ...]


def format_document(format_: TurnFormat) -> FormatDocument:
    """Return all that a format says, and its joints."""
    return FormatDocument(**asdict(turn_document(format_)), joints=_joints(format_))


def turn_document(format_: TurnFormat) -> TurnDocument:
    """Return all that a format says."""
    return TurnDocument(
        header=format_.header,
        openings=convert(format_.openings, tuple[OpeningDocument, ...], from_attributes=True),
        later_openings=convert(
            format_.later_openings, tuple[OpeningDocument, ...], from_attributes=True
        ),
        layouts=tuple(_layout_document(*each) for each in format_.layouts.items()),
        calls=None if format_.calls is None else _calls_document(format_.calls),
        ends=format_.ends,
        stop_strings=format_.stop_strings,
        argument_form=format_.argument_form,
        setting=format_.setting,
        reasoning_open=format_.reasoning_open,
        reasoning_close=format_.reasoning_close,
        reasoning_cut=format_.reasoning_cut,
        elsewhere=tuple(sorted(format_.elsewhere)),
        evidence=format_.evidence,
        retention=format_.retention,
    )


def _layout_document(presence: Presence, layout: TurnLayout) -> LayoutDocument:
    return LayoutDocument(
        PresenceDocument(*presence),
        layout.parts,
        layout.literals,
        LayoutEdgesDocument(layout.reasoning, layout.content),
        layout.refusal or None,
    )


def _joints(format_: TurnFormat) -> tuple[JointDocument, ...]:
    from autoparser.analysis.core.turn_format import joints_of  # noqa: PLC0415 - what follows is not saved

    neighbours = groupby(joints_of(format_), key=lambda joint: (joint.before, joint.after))
    return tuple(
        JointDocument(
            before,
            after,
            tuple(
                JointLiteralDocument(
                    joint.text, tuple(PresenceDocument(*each) for each in joint.presences)
                )
                for joint in joints
            ),
        )
        for (before, after), joints in neighbours
    )


def _calls_document(calls: CallFormat) -> CallsDocument:
    arguments = calls.arguments
    return CallsDocument(
        section_open=calls.section_open,
        section_close=calls.section_close,
        separator=calls.separator,
        row=row_document(calls.row),
        empty_row=None if calls.empty_row is None else row_document(calls.empty_row),
        later_close=calls.later_close,
        index_base=calls.index_base,
        limit=calls.limit,
        id_row=row_document(calls.id_row),
        leads=calls.leads,
        free_words=calls.free_words,
        arguments=ArgumentsDocument(
            verbatim=arguments.verbatim,
            encoded=arguments.encoded,
            margin=arguments.margin,
            refused=tuple(sorted(arguments.refused)),
            members=container_document(arguments.members),
            values=notation_document(arguments.values),
        ),
        index_goes_on=calls.index_goes_on,
    )


# A format read back from its document: nothing is lost, and nothing is concluded anew.


def format_read(document: TurnDocument) -> TurnFormat:
    """Return the format that a document tells."""
    openings, later = (
        tuple(TurnOpening(**asdict(each)) for each in told)
        for told in (document.openings, document.later_openings)
    )
    layouts = {Presence(**asdict(each.presence)): _read_layout(each) for each in document.layouts}
    kinds = document.evidence.items()
    return TurnFormat(
        header=document.header,
        layouts=layouts,
        calls=None if document.calls is None else _read_calls(document.calls),
        openings=openings,
        later_openings=later,
        ends=document.ends,
        stop_strings=document.stop_strings,
        argument_form=document.argument_form,
        setting=document.setting,
        reasoning_cut=document.reasoning_cut,
        reasoning_open=document.reasoning_open,
        reasoning_close=document.reasoning_close,
        not_rendered={part: kind for part, kind in kinds if kind is not EvidenceKind.RENDER},
        elsewhere=frozenset(document.elsewhere),
        retention=document.retention,
    )


def _read_layout(document: LayoutDocument) -> TurnLayout:
    edges = document.edges
    return TurnLayout(
        document.parts, document.literals, edges.reasoning, edges.content, document.refusal or ""
    )


def _read_calls(document: CallsDocument) -> CallFormat:
    told = document.arguments
    return CallFormat(
        row=_row(document.row),
        arguments=ArgumentFormat(
            members=_container(told.members),
            values=_notation(told.values),
            margin=told.margin,
            refused=frozenset(told.refused),
            encoded=told.encoded,
            verbatim=told.verbatim,
        ),
        section_open=document.section_open,
        section_close=document.section_close,
        separator=document.separator,
        empty_row=None if document.empty_row is None else _row(document.empty_row),
        later_close=document.later_close,
        index_base=document.index_base,
        index_goes_on=document.index_goes_on,
        limit=document.limit,
        id_row=_row(document.id_row),
        free_words=document.free_words,
        leads=document.leads,
    )


def _row(pieces: tuple[PieceDocument, ...]) -> Row:
    told = (piece.slot if piece.literal is UNSET else piece.literal for piece in pieces)
    return tuple(piece for piece in told if piece is not UNSET)


def _container(document: ContainerDocument) -> ContainerNotation:
    return ContainerNotation(
        open=document.open,
        close=document.close,
        separator=document.separator,
        empty=document.empty,
        entry=_row(document.entry),
        typed={kind: None if row is None else _row(row) for kind, row in document.typed.items()},
        key=document.key,
        order=document.order,
        indent=document.indent,
        values=None if document.values is None else _notation(document.values),
    )


def _notation(document: NotationDocument) -> ValueNotation:
    return ValueNotation(
        string=document.string,
        true=document.true,
        false=document.false,
        null=document.null,
        array=_container(document.array),
        object=_container(document.object),
        number=document.number,
    )
