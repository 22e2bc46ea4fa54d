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

from autoparser.analysis.core.asked_bounds import AskedBounds
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import ContentParts, Formats, TurnFormat
from autoparser.analysis.core.json_document import Count, Digest, JsonDocument, json_of
from autoparser.analysis.core.switches import Switch, UnmovedVariable
from autoparser.analysis.core.verdicts import Check, Gate
from autoparser.analysis.describing.format_document import FormatDocument, format_document
from autoparser.analysis.describing.verdict_document import (
    CheckDocument,
    GateDocument,
    SandboxDocument,
    check_document,
    gate_document,
    sandbox_document,
)
from autoparser.analysis.describing.view import (
    CallIdPosition,
    ContentMode,
    Flags,
    ReasoningMode,
    ToolFormat,
    View,
)
from autoparser.analysis.inference.check import ToolsInPrompt
from autoparser.analysis.inference.phases import Finding
from autoparser.analysis.inference.probing import (
    Shape,
    ShapeTrial,
    StringArguments,
    choose_sentinels,
)
from autoparser.analysis.loading.template import ChatTemplate, Provenance
from autoparser.analysis.reading.expression import ExpressionDocument

from .content_parts_document import ContentPartsDocument, content_parts_document
from .evidence_document import PhaseDocument, phase_document
from .switch_document import SwitchDocument, switch_document

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
    flags: Flags
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
    shape: Shape
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
    flags: Flags
    json_fields: JsonFieldsDocument | None
    markers: dict[str, str]
    switches: tuple[SwitchDocument, ...]
    unmoved: tuple[UnmovedVariable, ...]
    shape: Shape


class Described(Protocol):
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
    def shape(self) -> Shape:
        """What it wants of its messages."""
        ...


class Documented(Described, Protocol):
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


def document(analysis: Documented) -> dict[str, Json]:
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


def described(learnt: Described) -> dict[str, Json]:
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
