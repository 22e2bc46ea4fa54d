"""The document of a whole analysis.

Contract: the same analysis gives the same document, byte for byte, in any process; it holds
no time, no machine and nothing that a JSON writer refuses. `docs/json-schema.md` explains it;
`docs/analysis.schema.json` describes it, and is made of the classes here. A change that is more
than an addition counts `ANALYSIS_SCHEMA` up.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType, convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    Digest,
    JsonDocument,
    SettingValues,
    copy_fields,
)
from autoparser.analysis.core.message_shape import MessageShape, StringArguments
from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.core.question_bounds import AskedBounds
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.text_alignment import DiffSplit
from autoparser.analysis.core.text_format import ContentParts
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.core.verdicts import EvidenceKind, Gate
from autoparser.analysis.learning.prober import Finding, Probe
from autoparser.analysis.learning.shape_negotiation import ShapeTrial
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.parsing.expression_document import ExpressionDocument

from .format_document import CheckDocument, FormatDocument
from .format_view import CallIdPosition, ContentMode, FormatFlags, ReasoningMode, ToolFormat
from .learned_format import LearnedFormat

# What the phases and the self-check found, as they are told.


class RenderErrorDocument(JsonDocument, frozen=True):
    """Why a render gave no text."""

    reason: str
    line: int | None
    refused: bool
    """The template itself raised."""


class RenderDocument(JsonDocument, frozen=True):
    """One render: what went in, and the text or the error."""

    messages: tuple[dict[str, Json], ...]
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

    def render(probe: Probe) -> RenderDocument:
        error = convert(probe.error, RenderErrorDocument | None, from_attributes=True)
        return RenderDocument(
            tuple(shape.messages(probe.dialogue, system)),
            probe.tools,
            probe.generation,
            probe.setting,
            None if error else probe.text,
            error,
        )

    return copy_fields(
        PhaseDocument,
        finding,
        markers={name: markers[name] for name in finding.markers if markers.get(name)},
        evidence=tuple(
            EvidenceDocument(each.difference, render(each.left), render(each.right), each.split)
            for each in finding.evidence
        ),
    )


# What a switch does, put together from where it was learned.


class AnyTextDocument(JsonDocument, frozen=True):
    """A switch whose value is itself written into the text."""

    effects: tuple[SwitchEffect, ...]


class SwitchValueDocument(JsonDocument, frozen=True):
    """What a value of a switch changes."""

    value: Json
    equal_values: tuple[Json, ...]
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
    default: Json
    """The value that renders as the unset variable does; null: none that was tried."""
    only: str | None
    """In words, when alone it changes anything; null: always, as far as was tried."""
    any_text: AnyTextDocument | None
    """Where the value itself is written into the text: what any text changes; else null."""
    values: tuple[SwitchValueDocument, ...]
    """Values whose renders all differ."""
    any_other: Json
    """The value, one of them or equal to one, that stands for any that the template does not know;
    null: those do nothing."""
    raising: tuple[Json, ...]
    """Values that the template compares it with, and that make the usual conversation raise."""
    others_raise: bool
    """A value that the template does not know makes the usual conversation raise."""
    numeric: bool
    """It is compared with numbers: what is said of any text holds of any number instead."""


def _switch_document(switch: Switch, formats: Formats) -> SwitchDocument:
    return copy_fields(
        SwitchDocument,
        switch,
        only=switch.only or None,
        any_text=AnyTextDocument(switch.text_effects) if switch.inserted else None,
        values=tuple(
            SwitchValueDocument(
                value,
                tuple(equal),
                switch.effects_of(value),
                formats.prompt_under({switch.name: value}),
                (switch.conditions[at] if switch.conditions else switch.only) or None,
            )
            for at, (value, *equal) in enumerate(switch.groups)
        ),
    )


ANALYSIS_SCHEMA: Final = "autoparser.analysis/2"
"""Name and version of the document's schema."""


class SandboxDocument(JsonDocument, frozen=True):
    """What transformers' sandbox alone forbids."""

    file: str | None
    """The file, or standard input."""
    line: int | None
    """Of the template."""
    reason: str
    """The exception's type and words."""
    right: Count
    """Messages that crash by it, and that the format writes as the template renders them there."""


class AnalyzedTemplateDocument(JsonDocument, frozen=True):
    """The template that was analyzed."""

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
    template: AnalyzedTemplateDocument
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
    gate: Gate
    """What became of the texts that the template writes after its generation prompts, under every
    setting."""
    sandbox: SandboxDocument | None
    """What transformers' sandbox alone forbids, so that it refuses the template; all else is then
    from renders in a sandbox that allows it. Null where it forbids nothing."""
    shape: MessageShape
    """What the template wants of its messages."""
    string_arguments: StringArguments | None
    """What becomes of arguments given as JSON text; null: calls are not written."""
    content_parts: ContentParts
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


def describe_format(learned: LearnedFormat) -> dict[str, Any]:
    """Return what a document says of a format beside turns, verdicts and evidence, by its keys."""
    view = learned.view
    return {
        "modes": convert(view, ModesDocument, from_attributes=True),
        "flags": view.flags,
        "json_fields": convert(view.json_fields, JsonFieldsDocument | None, from_attributes=True),
        "markers": dict(view.markers.items()),
        "switches": tuple(_switch_document(switch, learned.formats) for switch in learned.switches),
        "unmoved": learned.unmoved,
        "shape": learned.shape,
    }
