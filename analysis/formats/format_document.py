r"""The format of a turn as JSON, and read back from it.

A literal or a slot of a row is an object with one key, and a layout names its message's parts;
all else is written as the classes of `core` have it. For example, a row of a call is

    [{"literal": "<tool_call>\n{\"name\": \""}, {"slot": "name"},
     {"literal": "\", \"arguments\": "}, {"slot": "arguments"},
     {"literal": "}\n</tool_call>"}]
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
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
from autoparser.analysis.core.conversation import Json, Presence
from autoparser.analysis.core.documents import (
    ONE_KEY,
    Count,
    JsonDocument,
    SettingValues,
    copy_fields,
)
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringText
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_shape import ReasoningRetention, TurnEnd, TurnOpening
from autoparser.analysis.core.verdicts import (
    AskedForm,
    Check,
    EvidenceKind,
    Failure,
    TemplateCrash,
)


class PieceDocument(JsonDocument, frozen=True):
    """A literal or a slot."""

    literal: str | UnsetType = UNSET
    """Text of the template, such as `"<|channel|>commentary json<|message|>"`."""
    slot: RowSlot | UnsetType = UNSET
    """A variable text, such as `"name"`."""


RowDocument = Annotated[
    tuple[Annotated[PieceDocument, ONE_KEY], ...],
    Meta(description="Literals and slots, in the order they are written."),
]


class ContainerDocument(JsonDocument, frozen=True):
    """How an array or an object is written."""

    open: str
    """Before the first entry, such as `"{"`."""
    close: str
    """After the last entry, such as `"}"`."""
    separator: str
    """Between two entries, such as `", "`."""
    empty: str
    """Written in its place where it has no entries, such as `"{}"`."""
    entry: RowDocument
    r"""One item or member, such as
    `[{"literal": "<parameter="}, {"slot": "key"}, {"literal": ">\n"}, …]`."""
    typed: dict[JsonType, RowDocument | None]
    """Entries written otherwise because of their value's type, such as `{"null": null}`; null: not
    written."""
    key: StringText
    """How keys are written, such as `"city"` in the quotes of JSON."""
    order: MemberOrder
    """The order of the members, such as `"as given"`."""
    indent: str
    """The indentation that one level adds, such as `" "`; empty if all is on one line."""
    values: "NotationDocument | None"
    """How the values inside are written, such as `"a"`, in quotes, inside an array whose siblings
    are bare; null: like the value that holds them."""


class NotationDocument(JsonDocument, frozen=True):
    """How a value of each JSON type is written."""

    string: StringText
    r"""The quotes and escapes of strings, such as
    `{"open": "\"", "close": "\"", "escape": "json", …}`."""
    true: str
    """The word for true, such as `"True"`."""
    false: str
    """The word for false, such as `"False"`."""
    null: str
    """The word for null, such as `"None"`."""
    array: ContainerDocument
    """The notation of arrays, as in `["a", "b"]`."""
    object: ContainerDocument
    """The notation of objects, as in `{"city": "Oslo"}`."""
    number: StringText
    """The text around a number, such as `"#"` before each number."""


# The edges of a turn are neighbors, too.
_Before = Annotated[str, Meta(extra_json_schema={"enum": ["start", *TurnPart]})]
_After = Annotated[str, Meta(extra_json_schema={"enum": [*TurnPart, "end"]})]


class PresenceDocument(JsonDocument, frozen=True):
    """Which parts a message has."""

    reasoning: bool
    """Whether its reasoning is not empty, as in a message with `"A lookup is due."`."""
    content: bool
    """Whether its content is not empty, as in a message with `"Here is what I found."`."""
    calls: bool
    """Whether it has calls, 1 or more."""


class LayoutEdgesDocument(JsonDocument, frozen=True):
    """The whitespace that is stripped from the texts of a turn."""

    reasoning: StrippedEdges
    """Stripped from reasoning, such as `"newlines"` on both sides."""
    content: StrippedEdges
    """Stripped from content, such as `"whitespace"` on both sides."""


class LayoutDocument(JsonDocument, frozen=True):
    """How a turn with these parts is laid out: literals[0] parts[0] literals[1] …."""

    presence: PresenceDocument
    """The parts of the messages with this layout, such as
    `{"reasoning": true, "content": true, "calls": false}`."""
    parts: tuple[TurnPart, ...]
    """The parts that are written, in order, such as `["content", "calls"]`."""
    literals: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The texts before, between and after the parts, such as
    `["<|assistant|><think>", "</think>", ""]`."""
    edges: LayoutEdgesDocument
    """The whitespace that is stripped from the parts, such as `"newlines"` from reasoning."""
    refusal: str | None
    """The template's words where it refuses such a message, such as
    `"Cannot pass both content and thinking in an assistant message with tool calls!"`."""


class JointLiteralDocument(JsonDocument, frozen=True):
    """A literal between two neighbors."""

    text: str
    r"""The literal, such as `"\n</think>\n\n"`."""
    presences: tuple[PresenceDocument, ...]
    """In which messages, such as `[{"reasoning": true, "content": false, "calls": true}]`."""


class JointDocument(JsonDocument, frozen=True):
    """The literals between two neighbors, over all layouts in which they are neighbors."""

    before: _Before
    """The neighbor before the literals, such as `"reasoning"`."""
    after: _After
    """The neighbor after the literals, such as `"content"`."""
    literals: tuple[JointLiteralDocument, ...]
    """The literals, such as `"</s>"`, each with the messages that have it."""


class ArgumentsDocument(JsonDocument, frozen=True):
    """How a call's arguments are written."""

    verbatim: bool
    r"""The caller's own JSON text is pasted, such as `"{\"city\":\"Oslo\"}"` with its own spacing.
    """
    encoded: bool
    r"""The whole is JSON text inside a JSON string, such as `"{\"city\": \"Oslo\"}"`."""
    margin: str
    """The indentation of the lines around the arguments, such as six spaces (`" "`)."""
    refused: tuple[JsonType, ...]
    """Types of values on which the template raises, such as `["null"]`."""
    members: ContainerDocument
    """The arguments as a whole, as in `{"city": "Oslo", "days": 3}`."""
    values: NotationDocument
    """The notation of the values, such as `"Oslo"`, `3` and `true`."""


class CallsDocument(JsonDocument, frozen=True):
    """How a message's calls are written."""

    section_open: str
    r"""Before the first call, such as `"<tool_calls>\n"`."""
    section_close: str
    r"""After the last call, such as `"\n</tool_calls>"`."""
    separator: str
    r"""Between two calls, such as `"\n"`."""
    row: RowDocument
    r"""One call, such as
    `[{"literal": ">>>"}, {"slot": "name"}, {"literal": "\n"}, {"slot": "arguments"}]`."""
    empty_row: RowDocument | None
    """A call without arguments, where it is not the row with empty arguments, such as
    `[{"literal": "(call "}, {"slot": "name"}, {"literal": ")"}]`."""
    later_close: str
    """Written after every call but the first, such as
    `"<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"`."""
    index_base: Count
    """The index of the first call, such as `1`."""
    limit: CallLimit
    """Whether a message may have several calls, such as `"many calls"`."""
    id_row: RowDocument
    """How an id carries the name, where nothing else of a call does and a render shows it; its slot
    `id` is a word of which no render tells. Empty: none shows it, or the name is written apart."""
    leads: tuple[str, ...]
    """Markers that no turn is written with, such as `["<|python_tag|>"]`, and that may stand right
    before the calls."""
    free_words: tuple[FreeWord, ...]
    """Words of the row that a model may write otherwise, since the template takes them from a field
    where a message has it: which literal of the row, counted from 0, and where in it."""
    arguments: ArgumentsDocument
    """How the arguments in the row's slot are written, such as `{"city": "Oslo", "days": 3}`."""
    index_goes_on: bool = False
    """Whether the index counts calls through the conversation, so that the first call of a second
    turn may have the index `1`; else each turn counts its own."""


class TurnDocument(JsonDocument, frozen=True):
    """How turns are written under one setting of the switches: all that `write()` reads."""

    header: str
    r"""The text before every turn, such as `"<|im_start|>assistant\n"`."""
    openings: tuple[TurnOpening, ...]
    r"""The generation prompts of all settings with these layouts, such as the one with the text
    `"<|im_start|>assistant\n"`."""
    layouts: tuple[LayoutDocument, ...]
    r"""One layout for each combination of parts, such as the one with the literals
    `["<|im_start|>assistant\n", "<|im_end|>\n"]` for content alone."""
    calls: CallsDocument | None
    r"""The format of tool calls, as in `<tool_call>\n{"name": "get_forecast",
    "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>`; null if the template writes none."""
    ends: tuple[TurnEnd, ...]
    r"""The text that closes a turn, for each part that may be the last one, such as
    `"<|im_end|>\n"` after `"content"`."""
    stop_strings: tuple[str, ...]
    """The texts at which generation stops, such as `["<|im_end|>"]`."""
    argument_form: ArgumentForm
    """How the template wants arguments, such as `"object"`."""
    setting: SettingValues
    """The switches under which the layouts were seen, such as `{"preserve_thinking": true}`."""
    reasoning_open: str
    """The opening of reasoning if only a generation prompt or its words show it, such as
    `"<think>"`."""
    reasoning_close: str
    """The closing of reasoning if only a generation prompt or its words show it, such as
    `"</think>"`."""
    reasoning_cut: str | None
    """Where reasoning is only cut out of the content: all up to and with this is lost, such as
    `"</muse>"`."""
    elsewhere: tuple[TurnPart, ...]
    """Parts that turns under these settings never have, but those under others do, such as
    `["reasoning"]`."""
    evidence: dict[TurnPart, EvidenceKind]
    """The evidence for each part, such as `{"reasoning": "render"}`: renders, examples, outputs, or
    the prompt's words."""
    retention: ReasoningRetention
    """Whether an earlier turn's reasoning is still in the prompt, such as `"next_user": false`;
    null: could not be observed."""
    later_openings: tuple[TurnOpening, ...] = ()
    """Further generation prompts, after a call's result or after several turns, such as the one
    with the text `"<tool_response|>"`."""


class FormatDocument(TurnDocument, frozen=True, kw_only=True):
    """A turn's format under one setting of the switches, with the literals between its parts."""

    joints: tuple[JointDocument, ...]
    r"""The literals between each two neighbors, such as `"\n</think>\n\n"` between `"reasoning"`
    and `"content"`."""


def _row_document(row: Row) -> tuple[PieceDocument, ...]:
    return tuple(
        # A slot is a `str`, too, so ask whether it is a slot, not whether it is a text.
        PieceDocument(slot=piece) if isinstance(piece, RowSlot) else PieceDocument(literal=piece)
        for piece in row
    )


def _container_document(container: ContainerNotation) -> ContainerDocument:
    return copy_fields(
        ContainerDocument,
        container,
        entry=_row_document(container.entry),
        typed={kind: row and _row_document(row) for kind, row in container.typed.items()},
        values=container.values and _notation_document(container.values),
    )


def _notation_document(notation: ValueNotation) -> NotationDocument:
    return copy_fields(
        NotationDocument,
        notation,
        array=_container_document(notation.array),
        object=_container_document(notation.object),
    )


def format_document(format_: TurnFormat) -> FormatDocument:
    """Return a whole format, and its joints."""
    return copy_fields(FormatDocument, turn_document(format_), joints=_joints(format_))


def turn_document(format_: TurnFormat) -> TurnDocument:
    """Return a whole format."""
    return copy_fields(
        TurnDocument,
        format_,
        # JSON has no keys of three flags, so that each layout carries its own.
        layouts=tuple(_layout_document(*item) for item in format_.layouts.items()),
        calls=format_.calls and _calls_document(format_.calls),
        # Sets have no order, and equal formats must give equal documents.
        elsewhere=tuple(sorted(format_.elsewhere)),
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
    from autoparser.analysis.core.turn_format import format_joints  # noqa: PLC0415 - joints are not saved

    return tuple(
        JointDocument(
            before,
            after,
            tuple(
                JointLiteralDocument(
                    text, tuple(PresenceDocument(*presence) for presence in presences)
                )
                for text, presences in texts.items()
            ),
        )
        for (before, after), texts in format_joints(format_).items()
    )


def _calls_document(calls: CallFormat) -> CallsDocument:
    arguments = calls.arguments
    return copy_fields(
        CallsDocument,
        calls,
        row=_row_document(calls.row),
        empty_row=calls.empty_row and _row_document(calls.empty_row),
        id_row=_row_document(calls.id_row),
        arguments=copy_fields(
            ArgumentsDocument,
            arguments,
            # A set, as above.
            refused=tuple(sorted(arguments.refused)),
            members=_container_document(arguments.members),
            values=_notation_document(arguments.values),
        ),
    )


# A format restored from its document: nothing is lost, and nothing is inferred again.


def format_read(document: TurnDocument) -> TurnFormat:
    """Return the format of a document."""
    kinds = document.evidence.items()
    return copy_fields(
        TurnFormat,
        document,
        layouts={
            Presence(**asdict(layout.presence)): _read_layout(layout) for layout in document.layouts
        },
        calls=document.calls and _read_calls(document.calls),
        # A format lists only the parts that no render shows; all others were rendered.
        not_rendered={part: kind for part, kind in kinds if kind is not EvidenceKind.RENDER},
        elsewhere=frozenset(document.elsewhere),
    )


def _read_layout(document: LayoutDocument) -> TurnLayout:
    edges = document.edges
    return TurnLayout(
        document.parts, document.literals, edges.reasoning, edges.content, document.refusal or ""
    )


def _read_calls(document: CallsDocument) -> CallFormat:
    arguments = document.arguments
    return copy_fields(
        CallFormat,
        document,
        row=_read_row(document.row),
        empty_row=document.empty_row and _read_row(document.empty_row),
        id_row=_read_row(document.id_row),
        arguments=copy_fields(
            ArgumentFormat,
            arguments,
            refused=frozenset(arguments.refused),
            members=_read_container(arguments.members),
            values=_read_notation(arguments.values),
        ),
    )


def _read_row(pieces: tuple[PieceDocument, ...]) -> Row:
    found = (piece.slot if piece.literal is UNSET else piece.literal for piece in pieces)
    return tuple(piece for piece in found if piece is not UNSET)


def _read_container(document: ContainerDocument) -> ContainerNotation:
    return copy_fields(
        ContainerNotation,
        document,
        entry=_read_row(document.entry),
        typed={kind: row and _read_row(row) for kind, row in document.typed.items()},
        values=document.values and _read_notation(document.values),
    )


def _read_notation(document: NotationDocument) -> ValueNotation:
    return copy_fields(
        ValueNotation,
        document,
        array=_read_container(document.array),
        object=_read_container(document.object),
    )


# The verdict of the self-check as JSON, and restored from it.


class CheckCounts(JsonDocument, frozen=True):
    """The self-check in figures."""

    passed: Count
    """Messages that the format predicts correctly, without crashes on messages that agents send,
    such as `47`."""
    total: Count
    """The number of messages in the battery, such as 47."""
    equal: Count
    """Written by the format as the template renders them, such as `39`."""
    refused: Count
    """Counted as passed: the template refuses them on purpose, and the format says so, such as `8`.
    """
    crashed: Count
    """The template crashes on them, as the format says, such as `39`; not counted as passed where
    agents send such messages."""
    not_asked: Count
    """Counted as passed: in the shape that the template takes they are the same as others;
    usually `0`."""
    different: Count
    """The format is wrong about them, such as `11`; the template may crash."""


class CallDocument(JsonDocument, frozen=True):
    """A call in a message."""

    name: str
    """The function's name, such as `"get_forecast"`."""
    arguments: dict[str, Json]
    """The arguments by name, such as `{"city": "Oslo"}`."""
    id: str
    """The id that the tool's result refers to, such as `"aB3dE6gH1"`."""


class MessageDocument(JsonDocument, frozen=True, omit_defaults=True):
    """A message, the parts that it has."""

    reasoning: str = ""
    r"""The thoughts before the answer, such as `"The user wants facts.\nA lookup is due."`."""
    content: str = ""
    """The answer for the user, such as `"Here is what I found."`."""
    calls: tuple[CallDocument, ...] = ()
    """The tool calls in their order, such as one of `"update_record"` with `{"count": 42}`."""


class FailureDocument(JsonDocument, frozen=True):
    """A message that does not pass."""

    title: str
    """The title of the message, such as `"content and 1 call"`."""
    reason: str
    """The cause in words, such as `"the texts differ"`."""
    message: MessageDocument
    """The message, such as
    `{"calls": [{"name": "update_record", "arguments": {"count": 42}, "id": "aB3dE6gH1"}]}`."""
    written: str | None
    r"""By the format, such as
    `"<|assistant|><call>update_record<with>{\"count\": 42}</call><|end|>\n"`; null: it says that
    the template raises on the message."""
    rendered: str | None
    r"""By the template, such as `"A:(call update_record <title>plain;).\n"`; null: it raised."""
    crash: TemplateCrash | None
    """Where the template crashes on it, such as in line `10`; null: it renders or refuses it."""
    foretold: bool
    """The format is right about it: the template crashes."""


class CheckDocument(CheckCounts, frozen=True):
    """The self-check of a format."""

    crashes: tuple[TemplateCrash, ...]
    """Where the template crashes, each cause once."""
    failures: tuple[FailureDocument, ...]
    """The messages that do not pass, such as `"an argument that is an empty array"`."""
    forms: tuple[AskedForm, ...] = ()
    """The messages as users send them, one entry for each thing in which the shape that the
    template takes departs from that, and one for all that were asked at once."""


def check_document(check: Check) -> CheckDocument:
    """Return the verdict, with every failure."""
    failures = convert(check.failures, tuple[FailureDocument, ...], from_attributes=True)
    different = len(check.different)
    return copy_fields(CheckDocument, check, different=different, failures=failures)


def check_counts(check: Check) -> CheckCounts:
    """Return the verdict in figures."""
    return copy_fields(CheckCounts, check, different=len(check.different))


def check_read(document: CheckDocument) -> Check:
    """Return the verdict of a document."""
    # The counts that are missing there are computed from crashes and failures again. Most formats
    # have no failures, and `convert` would prepare seven classes for them.
    failures = document.failures and convert(
        document.failures, tuple[Failure, ...], from_attributes=True
    )
    return copy_fields(Check, document, failures=failures)
