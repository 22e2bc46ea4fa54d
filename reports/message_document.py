"""A parsed message as a document, for which no report is imported.

``docs/parse.schema.json`` is made of the document classes here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, UnsetType, convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    Positive,
    SettingValues,
    copy_fields,
    json_of,
)
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.parsing.parsed_message import (
    Delta,
    FinishReason,
    ParsedCall,
    ParsedMessage,
    Status,
    message_status,
)
from autoparser.analysis.parsing.text_tape import SpanKind

if TYPE_CHECKING:
    from autoparser.analysis.engines.output_reading import EngineOutcome, ExplainedOutput
    from autoparser.analysis.formats.output_explanation import DeviationExplanation


class FunctionDocument(JsonDocument, frozen=True):
    """The called function, with its arguments as JSON text."""

    name: str
    arguments: str


class ToolCallDocument(JsonDocument, frozen=True):
    """A call in OpenAI's form."""

    id: str
    type: Literal["function"]
    function: FunctionDocument


class UnfinishedCallDocument(JsonDocument, frozen=True):
    """A call that was truncated, or that could not be read."""

    id: str | None
    name: str
    arguments: str
    """The received part of the arguments."""


class SchemaErrorDocument(JsonDocument, frozen=True):
    """A violation of the tool's schema by a call's arguments."""

    call: Count
    """Index of the call in `tool_calls`."""
    place: str
    """The place in the arguments, such as `items[0].id`; empty for the arguments as a whole."""
    keyword: str
    """The keyword in the schema, such as `properties.days.type`."""
    message: str


class SpanDocument(JsonDocument, frozen=True):
    """A part of the text and its kind."""

    start: Count
    end: Count
    kind: SpanKind
    text: str


class CauseDocument(JsonDocument, frozen=True):
    """A likely cause of a deviation."""

    kind: str
    markers: tuple[str, ...]
    """The stripped markers."""
    setting: SettingValues
    """The switches of the other prompt; empty for the template's defaults."""
    words: str


class ExplanationDocument(JsonDocument, frozen=True):
    """One place with the expected text, the found text, and the likely cause."""

    what: str
    expected: str
    found: str
    offset: Count
    """Offset in the output, in characters."""
    line: Positive
    column: Positive
    more: Count
    """Number of later places with the same deviation."""
    cause: CauseDocument | None


class EngineOutcomeDocument(JsonDocument, frozen=True):
    """How the parsers of an engine read the output."""

    engine: str
    """The engine and its version, such as `"vllm 0.32.0"`; its name alone if it does not start."""
    tool_parser: str | None
    """The parser of tool calls, or null for none."""
    reasoning_parser: str | None
    """The parser of reasoning, or null for none."""
    right: bool | None
    """Whether they read it as this package does; null without an answer."""
    part: str
    """The part of the message that differs, such as `content`; empty if none does."""
    expected: str
    """This package's reading of that part."""
    actual: str
    """The engine's reading of that part."""
    left_out: str
    """Why the engine was not asked, or did not answer in time; empty if it answered."""
    way_out: str
    """An action that lets the engine be asked, or empty."""


class LossCauseDocument(JsonDocument, frozen=True):
    """Why a call was lost or wrong."""

    origin: str
    """The part of a system with the fault; `nothing` if nothing was lost."""
    reason: str
    """The reason, such as `special tokens were stripped`."""
    lost: bool
    """Whether a call is missing or unusable; a departure may also have been repaired."""
    words: str
    """The cause as a sentence."""
    way_out: str
    """An action against the cause, e.g. `raise max_tokens, or ask the model to go on`; or empty."""
    offset: Count | None
    """Offset of the departure in the output, in characters; null if it does not depart."""
    engines: tuple[EngineOutcomeDocument, ...]
    """The readings of engines, with `--python`."""


class DepartureDocument(JsonDocument, frozen=True):
    """A deviation from the template's writing in a recovered call."""

    call: Count
    """The index of the call in `tool_calls`."""
    what: str
    """The deviation, such as "`</tool_call>` is missing"."""


class ParsedDocument(JsonDocument, frozen=True, kw_only=True):
    """An output as OpenAI's message, with its statuses and the parts of its text."""

    template: TemplateDocument | UnsetType = UNSET
    role: Literal["assistant"]
    content: str | None
    reasoning_content: str | UnsetType = UNSET
    tool_calls: tuple[ToolCallDocument, ...] | UnsetType = UNSET
    finish_reason: FinishReason | UnsetType = UNSET
    status: Status
    missing_end: str | None
    """The missing end of the turn; null if it was seen or is not required."""
    partial_call: UnfinishedCallDocument | None
    """The truncated call."""
    malformed_calls: tuple[UnfinishedCallDocument, ...]
    call_statuses: tuple[Status, ...]
    """The status of each of `tool_calls`."""
    schema_errors: tuple[SchemaErrorDocument, ...]
    """Violations of the offered tool's schema by arguments; such calls are calls all the same."""
    departures: tuple[DepartureDocument, ...] | UnsetType = UNSET
    """Differences between recovered calls and the template's own."""
    unread: str | UnsetType = UNSET
    """The text of calls that could not be read, with `--markup separate`."""
    spans: tuple[SpanDocument, ...]
    """Parts of the text; every character belongs to one of them."""
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """Deviations from the template's writing; only with `--explain`."""
    cause: LossCauseDocument | UnsetType = UNSET
    """Why a call was lost or wrong; only with `--explain`."""


class FunctionDeltaDocument(JsonDocument, frozen=True):
    """New text of a function: its name, or more of its arguments."""

    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET


class CallDeltaDocument(JsonDocument, frozen=True):
    """New text of a call; its first delta has the id."""

    index: Count
    id: str | UnsetType = UNSET
    type: Literal["function"] | UnsetType = UNSET
    function: FunctionDeltaDocument | UnsetType = UNSET


class DeltaDocument(JsonDocument, frozen=True):
    """A delta as OpenAI streams it, with one of these keys."""

    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: tuple[CallDeltaDocument, ...] | UnsetType = UNSET
    finish_reason: FinishReason | UnsetType = UNSET


class StreamedDocument(JsonDocument, frozen=True, kw_only=True):
    """One line of a stream: a chunk and its deltas. The last line also has all other keys."""

    chunk: str | None
    """A piece of the text; null at its end."""
    deltas: tuple[DeltaDocument, ...]
    status: Status | UnsetType = UNSET
    missing_end: str | UnsetType | None = UNSET
    """The missing end of the turn; null if it was seen or is not required."""
    partial_call: UnfinishedCallDocument | UnsetType | None = UNSET
    """The truncated call."""
    malformed_calls: tuple[UnfinishedCallDocument, ...] | UnsetType = UNSET
    schema_errors: tuple[SchemaErrorDocument, ...] | UnsetType = UNSET
    """Violations of the offered tool's schema by arguments; such calls are calls all the same."""
    departures: tuple[DepartureDocument, ...] | UnsetType = UNSET
    """Differences between recovered calls and the template's own."""
    unread: str | UnsetType = UNSET
    """The text of calls that could not be read, with `--markup separate`."""
    template: TemplateDocument | UnsetType = UNSET
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """Deviations from the template's writing; only with `--explain`."""
    cause: LossCauseDocument | UnsetType = UNSET
    """Why a call was lost or wrong; only with `--explain`."""


def parsed_document(
    message: ParsedMessage,
    text: str,
    template: NamedTemplate | None = None,
    why: ExplainedOutput | None = None,
) -> ParsedDocument:
    """Return a message with its statuses, the parts of its text, and explanations."""
    spans = [
        SpanDocument(span.start, span.end, span.kind, text[span.start : span.end])
        for span in message.spans
    ]
    return convert(
        {
            **({} if template is None else {"template": named_template(template)}),
            # A call that the end cut off has its own field, `partial_call`.
            **replace(message, partial_call=None).to_openai(),
            **({"finish_reason": message.finish_reason} if message.finish_reason else {}),
            **_outcome(message),
            "call_statuses": [call.status for call in message.tool_calls],
            **_facts(message),
            "spans": spans,
            **_explained(why, text),
        },
        ParsedDocument,
    )


def message_document(
    message: ParsedMessage,
    text: str,
    template: NamedTemplate | None = None,
    why: ExplainedOutput | None = None,
) -> dict[str, Json]:
    """Return a message with its statuses, parts and explanations as JSON values."""
    return json_of(parsed_document(message, text, template, why))


def chunk_document(chunk: str, deltas: Sequence[Delta]) -> dict[str, Json]:
    """Return one chunk and its deltas as OpenAI streams them."""
    return json_of(StreamedDocument(chunk=chunk, deltas=_deltas(deltas)))


def end_document(
    deltas: Sequence[Delta],
    message: ParsedMessage,
    text: str,
    template: NamedTemplate,
    why: ExplainedOutput | None = None,
) -> dict[str, Json]:
    """Return the deltas at the end of the text, and the message's status."""
    return json_of(
        StreamedDocument(
            chunk=None,
            deltas=_deltas(deltas),
            template=named_template(template),
            **_outcome(message),
            **_facts(message),
            **_explained(why, text),
        )
    )


def _deltas(deltas: Sequence[Delta]) -> tuple[DeltaDocument, ...]:
    return tuple(convert(delta.to_openai(), DeltaDocument) for delta in deltas)


def _outcome(message: ParsedMessage) -> dict[str, Any]:
    partial = message.partial_call
    return {
        "status": message_status(message),
        "missing_end": message.missing_end or None,
        "partial_call": None if partial is None else _unfinished(partial),
        "malformed_calls": tuple(map(_unfinished, message.malformed_calls)),
    }


def _facts(message: ParsedMessage) -> dict[str, Any]:
    found = [
        copy_fields(SchemaErrorDocument, breach, call=at)
        for at, call in enumerate(message.tool_calls)
        for breach in call.schema_errors
    ]
    differ = [
        DepartureDocument(at, what)
        for at, call in enumerate(message.tool_calls)
        for what in call.departures
    ]
    unread = {} if message.unread is None else {"unread": message.unread}
    recovered = {"departures": tuple(differ)} if differ else {}
    return {"schema_errors": tuple(found), **recovered, **unread}


def _unfinished(call: ParsedCall) -> UnfinishedCallDocument:
    return UnfinishedCallDocument(call.id or None, call.name, call.arguments)


def _explained(why: ExplainedOutput | None, text: str) -> dict[str, Any]:
    if why is None:
        return {}
    return {"explanations": tuple(_explanations(why.places, text)), "cause": _loss(why, text)}


def _loss(why: ExplainedOutput, text: str) -> LossCauseDocument:
    from .explanation import cause_sentence, way_out  # noqa: PLC0415 - as below

    cause = why.cause
    return LossCauseDocument(
        cause.reason.origin,
        cause.reason,
        cause.lost,
        cause_sentence(why, text).plain,
        way_out(why),
        None if cause.place is None else cause.place.offset,
        tuple(map(_outcome_document, why.engines)),
    )


def _outcome_document(outcome: EngineOutcome) -> EngineOutcomeDocument:
    judged = outcome.judged
    verdict = None if judged is None or judged.failure is None else judged.failure.verdict
    return EngineOutcomeDocument(
        outcome.title,
        None if judged is None else judged.pair.tool,
        None if judged is None else judged.pair.reasoning,
        None if judged is None else judged.all_right,
        "" if verdict is None else verdict.part,
        "" if verdict is None else verdict.expected,
        "" if verdict is None else verdict.actual,
        outcome.left_out,
        outcome.way_out,
    )


def _explanations(why: Sequence[DeviationExplanation], text: str) -> Iterator[ExplanationDocument]:
    # Imported here: the search for causes is slow to import, and most outputs need no explanation.
    from .explanation import cause_words, line_and_column  # noqa: PLC0415

    for explanation in why:
        cause = explanation.cause
        line, column = line_and_column(text, explanation.offset)
        yield copy_fields(
            ExplanationDocument,
            explanation,
            what=explanation.deviation,
            line=line,
            column=column,
            cause=None
            if cause is None
            else copy_fields(
                CauseDocument, cause, words=cause_words(cause, explanation.deviation).plain
            ),
        )
