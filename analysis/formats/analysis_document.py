"""The document of a whole analysis.

Contract: the same analysis gives the same document, byte for byte, in any process; it holds
no time, no machine and nothing that a JSON writer refuses. `docs/json-schema.md` explains it;
`docs/analysis.schema.json` describes it, and is made of the classes here. A change that is more
than an addition counts `ANALYSIS_SCHEMA` up.

For example, of a template that writes calls as `<tool_call>JSON</tool_call>`:

    {"schema": "autoparser.analysis/2", …,
     "modes": {"reasoning": "TAG_BASED", "content": "PLAIN", "tools": "JSON_NATIVE", …},
     "markers": {"reasoning_start": "<think>", "reasoning_end": "</think>", …},
     "check": {"passed": 47, "total": 47, …}, "gate": {"asked": 14, "passed": 14, …}, …}
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType, convert

from autoparser.analysis.core.call_notation import JsonFieldsDocument
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    Digest,
    JsonDocument,
    SettingValues,
    copy_fields,
)
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.media_treatment import ContentParts
from autoparser.analysis.core.message_shape import MessageShape, StringArguments
from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.core.question_bounds import AskedBounds
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.text_alignment import DiffSplit
from autoparser.analysis.core.verdicts import Gate
from autoparser.analysis.learning.prober import Finding, Probe
from autoparser.analysis.learning.shape_negotiation import ShapeTrial
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.parsing.expression_document import ExpressionDocument

from .format_document import CheckDocument, FormatDocument
from .format_file import PhaseConclusion
from .format_view import CallIdPosition, ContentMode, FormatFlags, ReasoningMode, ToolFormat
from .learned_format import LearnedFormat

# Findings of the phases and of the self-check.


class RenderErrorDocument(JsonDocument, frozen=True):
    """Why a render gave no text."""

    reason: str
    """The exception's type and message, such as
    `"TypeError: argument of type 'NoneType' is not iterable"`, or the template's own message, such
    as `"Only one call at a time."`."""
    line: int | None
    """The template's line, from 1; null if unknown."""
    refused: bool
    """The template itself raised, such as by `raise_exception("Only one call at a time.")`."""


class RenderDocument(JsonDocument, frozen=True):
    """One render: what went in, and the text or the error."""

    messages: tuple[dict[str, Json], ...]
    """The messages in the shape that the template takes, such as
    `[{"role": "user", "content": "pkvrbnwj"}]`, whose text is a sentinel."""
    tools: bool
    """Whether tools were given."""
    add_generation_prompt: bool
    """Whether the generation prompt was asked for, such as `"<|assistant|>"`."""
    setting: SettingValues
    """Values of the template's switches, such as `{"enable_thinking": false}`."""
    text: str | None
    r"""The render, such as `"<|user|>pkvrbnwj<|end|>\n<|assistant|>"`; null if it raised."""
    error: RenderErrorDocument | None
    """The exception, such as `"Only one call at a time."` in line `33`; null if there was none."""


class EvidenceDocument(JsonDocument, frozen=True):
    """Two renders that differ in one thing."""

    difference: str
    """The difference in words, such as `"one call / two calls"`."""
    left: RenderDocument
    r"""The first render, such as `"<|user|>pkvrbnwj<|end|>\n"`."""
    right: RenderDocument
    r"""The second render, such as `"<|user|>pkvrbnwj<|end|>\n<|assistant|>"`."""
    split: DiffSplit
    """left render = prefix + left + suffix, right render = prefix + right + suffix; `right` is
    `"<|assistant|>"` for these two."""


class PhaseDocument(PhaseConclusion, frozen=True):
    """A phase's conclusion, with its renders."""

    markers: dict[str, str]
    """The markers that this phase found, such as `{"tool_section_start": "<|tool_calls|>"}`."""
    evidence: tuple[EvidenceDocument, ...]
    """The pairs of renders behind the conclusion, such as the one with the difference
    `"no reasoning / reasoning"`."""


def phase_document(
    finding: Finding, shape: MessageShape, system: str, markers: dict[str, str]
) -> PhaseDocument:
    """Return a phase's conclusion, with its renders."""

    def render(probe: Probe) -> RenderDocument:
        error = convert(probe.error, RenderErrorDocument | None, from_attributes=True)
        return RenderDocument(
            tuple(shape.messages(probe.dialogue, system)),
            probe.tools,
            probe.generation,
            probe.setting,
            # A probe has an empty text on an error; null distinguishes it from an empty render.
            None if error else probe.text,
            error,
        )

    return copy_fields(
        PhaseDocument,
        finding,
        # A phase names all markers that it looks for, found or not.
        markers={name: markers[name] for name in finding.markers if markers.get(name)},
        evidence=tuple(
            EvidenceDocument(pair.difference, render(pair.left), render(pair.right), pair.split)
            for pair in finding.evidence
        ),
    )


# The effects of a switch, merged from the places where they were learned.


class AnyTextDocument(JsonDocument, frozen=True):
    """A switch whose value is itself written into the text."""

    effects: tuple[SwitchEffect, ...]
    """The effects of any text, such as `["the generation prompt"]`."""


class SwitchValueDocument(JsonDocument, frozen=True):
    """The effects of one value of a switch."""

    value: Json
    """The value, such as `false`."""
    equal_values: tuple[Json, ...]
    """The others that were tried and render alike, such as `["high"]` for the value `"low"`."""
    effects: tuple[SwitchEffect, ...]
    """Its effects, such as `["the generation prompt"]`."""
    generation_prompt: str | None
    r"""The generation prompt under this value, such as
    `"<|im_start|>assistant\n<|plan|><|/plan|>"`; null: it was not rendered, because the value does
    not change it."""
    only: str | None
    """In words, when alone it changes anything, such as `"without tools"`; null: always, as far as
    was tried."""


class SwitchDocument(JsonDocument, frozen=True):
    """A variable that changes a render."""

    name: str
    """The variable's name, such as `"enable_thinking"`."""
    default: Json
    """The value that renders as the unset variable does, such as `"medium"`; null: none that was
    tried."""
    only: str | None
    """In words, when alone it changes anything, such as `"without tools"`; null: always, as far as
    was tried."""
    any_text: AnyTextDocument | None
    """Where the value itself is written into the text: what any text changes, such as
    `{"effects": ["the prompt text"]}`; else null."""
    values: tuple[SwitchValueDocument, ...]
    """Values whose renders all differ, such as those for `"low"` and for `"none"`."""
    any_other: Json
    """The value, one of them or equal to one, that stands for any that the template does not know,
    such as `"other"`; null: those do nothing."""
    raising: tuple[Json, ...]
    """Values that the template compares it with, and that make the usual conversation raise, such
    as `[true]`."""
    others_raise: bool
    """A value that the template does not know, such as `"other"`, makes the usual conversation
    raise."""
    numeric: bool
    """Whether it is compared with numbers, so that `any_text` holds for any number instead."""


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
                switch.value_effects(value),
                formats.prompt_under({switch.name: value}),
                (switch.conditions[at] if switch.conditions else switch.only) or None,
            )
            # Values of one group render alike; the first one stands for them.
            for at, (value, *equal) in enumerate(switch.groups)
        ),
    )


ANALYSIS_SCHEMA: Final = "autoparser.analysis/2"
"""Name and version of the document's schema."""


class SandboxDocument(JsonDocument, frozen=True):
    """A feature that only transformers' sandbox forbids."""

    file: str | None
    """The file, such as `"fixtures/templates/list-changed.jinja"`, or standard input."""
    line: int | None
    """The line of the template, such as `10`."""
    reason: str
    """The exception's type and words, such as
    `"SecurityError: access to attribute 'append' of 'list' object is unsafe."`."""
    right: Count
    """Messages that crash by it, and that the format writes as the template renders them there,
    such as `39`."""


class AnalyzedTemplateDocument(JsonDocument, frozen=True):
    """The template that was analyzed."""

    name: str | None
    """Its name among the templates of a model, such as `"tool_use"`, or null."""
    origin: str | None
    """The file, such as `"fixtures/templates/a1-5-long-tag.jinja"`, or standard input."""
    sha256: Digest
    """Of the template's text in UTF-8."""
    characters: Count
    """Characters of the template's text, such as `2265`."""
    source: Provenance | None
    """Where it came from, such as a source of the kind `"file"`; null for a text that was given
    directly."""


class ModesDocument(JsonDocument, frozen=True):
    """The modes, each one word."""

    reasoning: ReasoningMode
    """How turns begin reasoning, such as `"TAG_BASED"`."""
    content: ContentMode
    """Whether content has markers, such as `"PLAIN"`."""
    tools: ToolFormat
    """The kind of notation of calls, such as `"JSON_NATIVE"`."""
    call_id: CallIdPosition
    """The place of the id in a call, such as `"POST_ARGS"`."""


class AnalysisDocument(JsonDocument, frozen=True):
    """All of an analysis."""

    schema: Literal["autoparser.analysis/2"]
    """Name and version of the document's schema: `"autoparser.analysis/2"`."""
    template: AnalyzedTemplateDocument
    """The template, such as the one with the origin `"fixtures/templates/a1-5-long-tag.jinja"`."""
    modes: ModesDocument
    """The modes of reasoning, content, calls and ids, such as `"TAG_BASED"`, `"PLAIN"`,
    `"JSON_NATIVE"` and `"NONE"`."""
    flags: FormatFlags
    """Yes-or-no properties of the format, such as `supports_tools`."""
    json_fields: JsonFieldsDocument | None
    """The keys of a call that is one JSON value, such as `"tool"` for the name and `"args"` for the
    arguments, empty if it lacks them; null if it is not JSON."""
    markers: dict[str, str]
    """Marker texts by name, such as `{"per_call_start": "<use>", "per_call_end": "</use>"}`;
    markers that are not there are left out."""
    preserved_tokens: tuple[str, ...]
    """Markers that a tokenizer must keep in the output, such as `["<tool_call>"]`."""
    switches: tuple[SwitchDocument, ...]
    """The switches with an effect, such as `enable_thinking`."""
    unmoved: tuple[UnmovedVariable, ...]
    """Variables that the template reads without a visible effect, such as `skip_think`."""
    format: FormatDocument
    r"""How turns are written with nothing set, such as with the header `"<|im_start|>assistant\n"`:
    the first of the formats."""
    formats: Annotated[tuple[FormatDocument, ...], Meta(min_length=1)]
    """One format for every setting of the switches that changes a turn or its generation prompt;
    the openings of each name its settings, such as `{"enable_thinking": false}`."""
    fullest: Count
    """Which of the formats shows most of a message, counted from 0; modes, markers and phases are
    of this one."""
    untried_settings: Count
    """Combinations of values that were not looked at, such as `28`."""
    check: CheckDocument
    """The self-check of the format with nothing set, such as 47 of 47 messages passed."""
    checks: Annotated[tuple[CheckDocument, ...], Meta(min_length=1)]
    """The self-check of each of the formats, such as 47 of 47 messages passed."""
    gate: Gate
    """The verdict on the texts that the template writes after its generation prompts, under every
    setting, such as 14 of 14 passed."""
    sandbox: SandboxDocument | None
    """The feature that makes transformers' sandbox reject the template, such as `append` of a list.
    The rest of the analysis then uses a sandbox that allows it. Null if that of transformers
    renders the template."""
    shape: MessageShape
    """The form of messages that the template expects, such as `"arguments_as_string": true`."""
    string_arguments: StringArguments | None
    """How the template renders arguments given as JSON text, such as `"encoded a second time"`;
    null if it writes no calls."""
    content_parts: ContentParts
    """How the template renders user content that is a list of parts, such as
    `[{"type": "text", "text": "pkvrbnwj"}]`."""
    trials: tuple[ShapeTrial, ...]
    """The shapes that were tried, such as `"the plain shape"`."""
    phases: tuple[PhaseDocument, ...]
    """The conclusions of all phases, such as the one of `R1`, on reasoning."""
    stand_ins: dict[str, str]
    """Special tokens that are not known, and what stood for them, such as
    `{"bos_token": "<bos_token>"}`."""
    renders: Count
    """How many renders the analysis took, such as `200`."""
    asked: AskedBounds
    """The range of inputs that the renders covered, such as the `longest_text` of 4004 characters.
    """
    parser: ExpressionDocument | UnsetType = UNSET
    """The expression by which a model's output is read, such as one with the header
    `"<|im_start|>assistant"`."""
    unwritten_tokens: tuple[str, ...] | UnsetType = UNSET
    """Added tokens of the model's tokenizer that no render writes, such as `"~use~"`, where the
    template shows no calls or no reasoning; the model may write them."""
    tools_in_prompt: ToolsInPrompt | UnsetType = UNSET
    """The parts of the offered tools that reach the prompt, such as 6 parts of 2 tools."""


def describe_format(learned: LearnedFormat) -> dict[str, Any]:
    """Return the keys of a document that describe a format, beside turns, verdicts and evidence."""
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
