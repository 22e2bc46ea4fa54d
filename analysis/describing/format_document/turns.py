"""The format of a turn, as it is told."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

from msgspec import Meta, convert
from msgspec.structs import asdict

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import (
    ArgumentForm,
    CallFormat,
    CallLimit,
    Edges,
    End,
    EvidenceKind,
    FreeWord,
    JsonType,
    Layout,
    Part,
    ReasoningRetention,
    TurnFormat,
    Written,
)
from autoparser.analysis.core.json_document import Count, JsonDocument, SettingValues

from .notation_document import (
    ContainerDocument,
    NotationDocument,
    RowDocument,
    container_document,
    notation_document,
    row_document,
)

_Before = Annotated[str, Meta(extra_json_schema={"enum": ["start", *Part]})]
_After = Annotated[str, Meta(extra_json_schema={"enum": [*Part, "end"]})]


class OpeningDocument(JsonDocument, frozen=True):
    """The generation prompt under one setting of the switches."""

    setting: SettingValues
    text: str
    """The generation prompt."""
    written: Written
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

    reasoning: Edges
    content: Edges


class LayoutDocument(JsonDocument, frozen=True):
    """How a turn with these parts is laid out: literals[0] parts[0] literals[1] …."""

    presence: PresenceDocument
    parts: tuple[Part, ...]
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
    ends: tuple[End, ...]
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
    elsewhere: tuple[Part, ...]
    """Parts that turns under these settings never have, but those under others do."""
    evidence: dict[Part, EvidenceKind]
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
        layouts=tuple(_layout(*each) for each in format_.layouts.items()),
        calls=None if format_.calls is None else _calls(format_.calls),
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


def _layout(presence: Presence, layout: Layout) -> LayoutDocument:
    return LayoutDocument(
        PresenceDocument(*presence),
        layout.parts,
        layout.literals,
        LayoutEdgesDocument(layout.reasoning, layout.content),
        layout.refusal or None,
    )


def _joints(format_: TurnFormat) -> tuple[JointDocument, ...]:
    from autoparser.analysis.core.format import joints_of  # noqa: PLC0415 - what follows is not saved

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


def _calls(calls: CallFormat) -> CallsDocument:
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
