"""The document of a whole analysis.

Contract: the same analysis gives the same document, byte for byte, in any process; it holds
no time, no machine and nothing that a JSON writer refuses. `docs/json-schema.md` explains it;
`docs/analysis.schema.json` describes it, and is made of the classes here. A change that is more
than an addition counts `SCHEMA` up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Protocol

from msgspec import UNSET, Meta, UnsetType, convert

from autoparser.analysis.core.conversation import Json, MediaKind
from autoparser.analysis.core.documents import (
    AnyJson,
    Count,
    Digest,
    JsonDocument,
    SettingValues,
    json_of,
)
from autoparser.analysis.core.message_shape import MessageShape, StringArguments
from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.core.question_bounds import AskedBounds
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.text_alignment import DiffSplit
from autoparser.analysis.core.text_format import (
    ContentParts,
    MediaPlace,
    MediaSlot,
    MediaTreatment,
    PartsOutcome,
)
from autoparser.analysis.core.turn_format import Formats, TurnFormat
from autoparser.analysis.core.verdicts import Check, EvidenceKind, Gate
from autoparser.analysis.learning.prober import Evidence, Finding, Probe, choose_sentinels
from autoparser.analysis.learning.shape_negotiation import ShapeTrial
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.parsing.expression_document import ExpressionDocument
from autoparser.analysis.templates.chat_template import ChatTemplate

from .format_document import ONE, FormatDocument, format_document
from .format_view import CallIdPosition, ContentMode, FormatFlags, ReasoningMode, ToolFormat, View
from .verdict_document import (
    CheckDocument,
    GateDocument,
    SandboxDocument,
    check_document,
    gate_document,
    sandbox_document,
)

# What the phases and the self-check found, as they are told.


class RenderErrorDocument(JsonDocument, frozen=True):
    """Why a render gave no text."""

    reason: str
    line: int | None
    refused: bool
    """The template itself raised."""


class RenderDocument(JsonDocument, frozen=True):
    """One render: what went in, and the text or the error."""

    messages: tuple[dict[str, AnyJson], ...]
    """In the shape that the template takes."""
    tools: bool
    """Whether tools were given."""
    add_generation_prompt: bool
    setting: SettingValues
    text: str | None
    error: RenderErrorDocument | None


class EvidenceDocument(JsonDocument, frozen=True):
    """Two renders that differ in one thing."""

    difference: str
    left: RenderDocument
    right: RenderDocument
    split: DiffSplit
    """left render = prefix + left + suffix, right render = prefix + right + suffix."""


class PhaseDocument(JsonDocument, frozen=True):
    """What a phase concluded, and from which renders."""

    phase: Annotated[str, Meta(pattern="^[A-Z][0-9]$")]
    title: str
    conclusion: str
    """One line for a person."""
    kind: EvidenceKind
    """What says so: renders, examples, outputs, or the prompt's words alone."""
    markers: dict[str, str]
    """The markers that this phase found."""
    evidence: tuple[EvidenceDocument, ...]


def phase_document(
    finding: Finding, shape: MessageShape, system: str, markers: dict[str, str]
) -> PhaseDocument:
    """Return what a phase concluded, and from which renders."""
    return PhaseDocument(
        finding.phase,
        finding.title,
        finding.conclusion,
        finding.kind,
        {name: markers[name] for name in finding.markers if markers.get(name)},
        tuple(_evidence(evidence, shape, system) for evidence in finding.evidence),
    )


def _evidence(evidence: Evidence, shape: MessageShape, system: str) -> EvidenceDocument:
    left, right = (_render(probe, shape, system) for probe in (evidence.left, evidence.right))
    return EvidenceDocument(evidence.difference, left, right, evidence.split)


def _render(probe: Probe, shape: MessageShape, system: str) -> RenderDocument:
    error = probe.error
    return RenderDocument(
        tuple(shape.messages(probe.dialogue, system)),
        probe.tools,
        probe.generation,
        probe.setting,
        None if error is not None else probe.text,
        None if error is None else RenderErrorDocument(error.reason, error.line, error.refused),
    )


# What becomes of content that is a list of parts, as JSON.


class PlaceholderPieceDocument(JsonDocument, frozen=True):
    """A text of a placeholder, or what differs from part to part."""

    literal: str | UnsetType = UNSET
    slot: MediaSlot | UnsetType = UNSET


class MediaDocument(JsonDocument, frozen=True):
    """What becomes of parts of one kind."""

    kind: MediaKind
    outcome: PartsOutcome
    """The best that becomes of any form."""
    forms: Mapping[str, PartsOutcome]
    """What becomes of each form in which callers send such parts."""
    placeholder: tuple[Annotated[PlaceholderPieceDocument, ONE], ...]
    """What stands for a part; empty where nothing does."""
    alone: tuple[Annotated[PlaceholderPieceDocument, ONE], ...]
    """What stands for a part that is the only one of its kind; empty where that is the same."""
    place: MediaPlace | None
    """Where it stands; null where nothing does."""
    each: bool
    """Whether every part of a message has its own; else all have one."""
    first_number: Count | None
    """The number of the first part; null where they are not counted."""
    roles: tuple[str, ...]
    """The roles of messages in which it is written."""
    earlier: bool
    """Whether it is still written when later messages follow."""
    loses_text: bool
    """Whether a text beside such a part is lost."""
    reason: str
    """The template's words where it raises."""


class ContentPartsDocument(JsonDocument, frozen=True):
    """What becomes of a user's content that is a list of parts."""

    texts: PartsOutcome
    """What becomes of a list of texts."""
    reason: str
    """The template's words where it raises on that."""
    media: tuple[MediaDocument, ...]
    """Images, videos, audio; empty where a list of texts is not written already."""
    renders: Count
    """How many renders say so."""


def content_parts_document(parts: ContentParts) -> ContentPartsDocument:
    """Return what becomes of parts."""
    media = tuple(map(_media_document, parts.media))
    return ContentPartsDocument(parts.texts, parts.reason, media, parts.renders)


def _media_document(media: MediaTreatment) -> MediaDocument:
    return MediaDocument(
        kind=media.kind,
        outcome=media.outcome,
        forms=media.forms,
        placeholder=tuple(map(_piece_document, media.placeholder)),
        alone=tuple(map(_piece_document, media.alone)),
        place=media.place,
        each=media.each,
        first_number=media.first_number,
        roles=media.roles,
        earlier=media.earlier,
        loses_text=media.loses_text,
        reason=media.reason,
    )


def _piece_document(piece: str | MediaSlot) -> PlaceholderPieceDocument:
    if isinstance(piece, MediaSlot):
        return PlaceholderPieceDocument(slot=piece)
    return PlaceholderPieceDocument(literal=piece)


# What a switch does, put together from where it was learnt.


class AnyTextDocument(JsonDocument, frozen=True):
    """A switch whose value is itself written into the text."""

    effects: tuple[SwitchEffect, ...]


class SwitchValueDocument(JsonDocument, frozen=True):
    """What a value of a switch changes."""

    value: AnyJson
    equal_values: tuple[AnyJson, ...]
    """The others that were tried and render alike."""
    effects: tuple[SwitchEffect, ...]
    generation_prompt: str | None
    """The generation prompt under this value; null: it was not rendered, because the value does
    not change it."""
    only: str | None
    """In words, when alone it changes anything; null: always, as far as was tried."""


class SwitchDocument(JsonDocument, frozen=True):
    """A variable that changes a render."""

    name: str
    default: AnyJson
    """The value that renders as the unset variable does; null: none that was tried."""
    only: str | None
    """In words, when alone it changes anything; null: always, as far as was tried."""
    any_text: AnyTextDocument | None
    """Where the value itself is written into the text: what any text changes; else null."""
    values: tuple[SwitchValueDocument, ...]
    """Values whose renders all differ."""
    any_other: AnyJson
    """The value, one of them or equal to one, that stands for any that the template does not know;
    null: those do nothing."""
    raising: tuple[AnyJson, ...]
    """Values that the template compares it with, and that make the usual conversation raise."""
    others_raise: bool
    """A value that the template does not know makes the usual conversation raise."""
    numeric: bool
    """It is compared with numbers: what is said of any text holds of any number instead."""


def effects_of(switch: Switch, value: Json) -> tuple[SwitchEffect, ...]:
    """Say what a value changes against the unset variable."""
    # By their texts, since to Python true is 1.
    known = {repr(one): effects for one, effects in zip(switch.values, switch.effects, strict=True)}
    return known.get(repr(value), ())


def effects_of_text(switch: Switch) -> tuple[SwitchEffect, ...]:
    """Say what any text changes, where the value itself is written into the prompt."""
    return switch.text_effects


def prompt_under(formats: Formats, setting: Mapping[str, Json]) -> str | None:
    """Return the generation prompt under exactly this setting; None where it was not rendered."""
    begun = formats.under(setting)
    if begun is None or begun.opening is None or setting.keys() - begun.opening.setting.keys():
        return None
    return begun.opening.text


def switch_document(switch: Switch, formats: Formats) -> SwitchDocument:
    """Return a switch with its values and what each changes."""
    return SwitchDocument(
        switch.name,
        switch.default,
        switch.only or None,
        AnyTextDocument(effects_of_text(switch)) if switch.inserted else None,
        tuple(
            SwitchValueDocument(
                value,
                tuple(equal),
                effects_of(switch, value),
                prompt_under(formats, {switch.name: value}),
                (switch.conditions[at] if switch.conditions else switch.only) or None,
            )
            for at, (value, *equal) in enumerate(switch.groups)
        ),
        switch.any_other,
        switch.raising,
        switch.others_raise,
        switch.numeric,
    )


SCHEMA: Final = "autoparser.analysis/2"
"""Name and version of the document's schema."""


class AnalysedTemplateDocument(JsonDocument, frozen=True):
    """The template that was analysed."""

    name: str | None
    origin: str | None
    """The file, or standard input."""
    sha256: Digest
    """Of the template's text in UTF-8."""
    characters: Count
    source: Provenance | None
    """Where it came from; null for a text that was given directly."""


class ModesDocument(JsonDocument, frozen=True):
    """The modes, each one word."""

    reasoning: ReasoningMode
    content: ContentMode
    tools: ToolFormat
    call_id: CallIdPosition


class JsonFieldsDocument(JsonDocument, frozen=True):
    """The fields of a call that is one JSON value."""

    fun_name_is_key: bool
    function_field: str
    name_field: str
    args_field: str
    id_field: str
    gen_id_field: str
    parameter_order: tuple[str, ...]


class AnalysisDocument(JsonDocument, frozen=True):
    """All of an analysis."""

    schema: Literal["autoparser.analysis/2"]
    """Name and version of the document's schema."""
    template: AnalysedTemplateDocument
    modes: ModesDocument
    flags: FormatFlags
    json_fields: JsonFieldsDocument | None
    """Where a call is one JSON value: its fields; an empty text where there is none."""
    markers: dict[str, str]
    """Marker texts by name; markers that are not there are left out."""
    preserved_tokens: tuple[str, ...]
    switches: tuple[SwitchDocument, ...]
    unmoved: tuple[UnmovedVariable, ...]
    format: FormatDocument
    """How turns are written with nothing set: the first of the formats."""
    formats: Annotated[tuple[FormatDocument, ...], Meta(min_length=1)]
    """One format for every setting of the switches that changes a turn or its generation prompt;
    the openings of each name its settings."""
    fullest: Count
    """Which of the formats shows most of a message, counted from 0; modes, markers and phases are
    of this one."""
    untried_settings: Count
    """Combinations of values that were not looked at."""
    check: CheckDocument
    """The self-check of the format with nothing set."""
    checks: Annotated[tuple[CheckDocument, ...], Meta(min_length=1)]
    """The self-check of each of the formats."""
    gate: GateDocument
    """What became of the texts that the template writes after its generation prompts, under every
    setting."""
    sandbox: SandboxDocument | None
    """What transformers' sandbox alone forbids, so that it refuses the template; all else is then
    from renders in a sandbox that allows it. Null where it forbids nothing."""
    shape: MessageShape
    """What the template wants of its messages."""
    string_arguments: StringArguments | None
    """What becomes of arguments given as JSON text; null: calls are not written."""
    content_parts: ContentPartsDocument
    """What becomes of a user's content that is a list of parts."""
    trials: tuple[ShapeTrial, ...]
    """The shapes that were tried."""
    phases: tuple[PhaseDocument, ...]
    stand_ins: dict[str, str]
    """Special tokens that are not known, and what stood for them."""
    renders: Count
    """How many renders the analysis took."""
    asked: AskedBounds
    """What the requests held at most that it rendered: the bounds of all that is said here."""
    parser: ExpressionDocument | UnsetType = UNSET
    """The expression by which a model's output is read."""
    unwritten_tokens: tuple[str, ...] | UnsetType = UNSET
    """Added tokens of the model's tokenizer that no render writes, where the template shows no
    calls or no reasoning; the model may write them."""
    tools_in_prompt: ToolsInPrompt | UnsetType = UNSET
    """What becomes of the tools that were given."""


class DescribedDocument(JsonDocument, frozen=True):
    """The part of an analysis that takes neither its template nor its renders."""

    modes: ModesDocument
    flags: FormatFlags
    json_fields: JsonFieldsDocument | None
    markers: dict[str, str]
    switches: tuple[SwitchDocument, ...]
    unmoved: tuple[UnmovedVariable, ...]
    shape: MessageShape


class FormatSource(Protocol):
    """What was learnt, which is put together above the document."""

    @property
    def formats(self) -> Formats:
        """Its formats under every setting."""
        ...

    @property
    def view(self) -> View:
        """The format in the words of reports: modes, markers, flags."""
        ...

    @property
    def switches(self) -> Sequence[Switch]:
        """Its switches."""
        ...

    @property
    def unmoved(self) -> tuple[UnmovedVariable, ...]:
        """The variables that it reads, of which no effect was found."""
        ...

    @property
    def shape(self) -> MessageShape:
        """What it wants of its messages."""
        ...


class DocumentSource(FormatSource, Protocol):
    """What a document is made of: an analysis, which is made above the document."""

    @property
    def template(self) -> ChatTemplate:
        """The template."""
        ...

    @property
    def format(self) -> TurnFormat:
        """Its format."""
        ...

    @property
    def phases(self) -> Sequence[Finding]:
        """What each phase found."""
        ...

    @property
    def check(self) -> Check:
        """The self-check's verdict."""
        ...

    @property
    def checks(self) -> Sequence[Check]:
        """The verdict on each of the formats."""
        ...

    @property
    def gate(self) -> Gate:
        """What became of the texts that the template writes after its prompts."""
        ...

    @property
    def string_arguments(self) -> StringArguments | None:
        """What becomes of arguments that are JSON text."""
        ...

    @property
    def content_parts(self) -> ContentParts:
        """What becomes of content that is a list of parts."""
        ...

    @property
    def trials(self) -> Sequence[ShapeTrial]:
        """The shapes that were tried."""
        ...

    @property
    def stand_ins(self) -> Mapping[str, str]:
        """What stood for unknown special tokens."""
        ...

    @property
    def renders(self) -> int:
        """How many renders it took."""
        ...

    @property
    def asked(self) -> AskedBounds:
        """What was asked in them."""
        ...


def document(analysis: DocumentSource) -> dict[str, Json]:
    """Return all of an analysis as values that JSON can hold, always in the same order."""
    template, view = analysis.template, analysis.view
    markers = dict(view.markers.items())
    # The sentinels are chosen by the template's text alone, so these are the ones of the probes.
    system = choose_sentinels(template.text).system
    shape, formats = analysis.shape, analysis.formats
    whole = AnalysisDocument(
        schema=SCHEMA,
        template=AnalysedTemplateDocument(
            template.name,
            template.origin,
            digest_of(template.text),
            len(template.text),
            template.source,
        ),
        modes=convert(view, ModesDocument, from_attributes=True),
        flags=view.flags,
        json_fields=convert(view.json_fields, JsonFieldsDocument | None, from_attributes=True),
        markers=markers,
        preserved_tokens=tuple(view.preserved_tokens),
        switches=tuple(switch_document(switch, formats) for switch in analysis.switches),
        unmoved=analysis.unmoved,
        format=format_document(analysis.format),
        formats=tuple(map(format_document, formats)),
        fullest=formats.each.index(formats.fullest),
        untried_settings=formats.untried,
        check=check_document(analysis.check),
        checks=tuple(map(check_document, analysis.checks)),
        gate=gate_document(analysis.gate),
        sandbox=sandbox_document(analysis.check, template.origin),
        shape=shape,
        string_arguments=analysis.string_arguments,
        content_parts=content_parts_document(analysis.content_parts),
        trials=tuple(analysis.trials),
        phases=tuple(phase_document(each, shape, system, markers) for each in analysis.phases),
        stand_ins=dict(analysis.stand_ins),
        renders=analysis.renders,
        asked=analysis.asked,
    )
    return json_of(whole)


def describe_format(learnt: FormatSource) -> dict[str, Json]:
    """Return what a document says beside formats, verdicts and evidence, under the same keys."""
    view = learnt.view
    told = DescribedDocument(
        modes=convert(view, ModesDocument, from_attributes=True),
        flags=view.flags,
        json_fields=convert(view.json_fields, JsonFieldsDocument | None, from_attributes=True),
        markers=dict(view.markers.items()),
        switches=tuple(switch_document(switch, learnt.formats) for switch in learnt.switches),
        unmoved=learnt.unmoved,
        shape=learnt.shape,
    )
    return json_of(told)


def digest_of(text: str) -> str:
    """Return the digest by which a template's text is told from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
