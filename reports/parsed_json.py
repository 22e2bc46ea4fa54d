"""A parsed output and a stream as JSON; ``docs/parse.schema.json`` is made of the classes here."""

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
)
from autoparser.analysis.parsing.text_tape import SpanKind

from .message import message_status

if TYPE_CHECKING:
    from autoparser.analysis.formats.output_explanation import DeviationExplanation


class FunctionDocument(JsonDocument, frozen=True):
    """What is called, with its arguments as JSON text."""

    name: str
    arguments: str


class ToolCallDocument(JsonDocument, frozen=True):
    """A call as OpenAI has it."""

    id: str
    type: Literal["function"]
    function: FunctionDocument


class UnfinishedCallDocument(JsonDocument, frozen=True):
    """A call that the end cut, or that could not be read."""

    id: str | None
    name: str
    arguments: str
    """As far as they came."""


class SpanDocument(JsonDocument, frozen=True):
    """A part of the text, and what it is."""

    start: Count
    end: Count
    kind: SpanKind
    text: str


class CauseDocument(JsonDocument, frozen=True):
    """Why an output may be so."""

    kind: str
    markers: tuple[str, ...]
    """What was stripped."""
    setting: SettingValues
    """The switches of the other prompt; empty: the template's defaults."""
    words: str


class ExplanationDocument(JsonDocument, frozen=True):
    """One place, what was expected there, what was found, and the likely cause."""

    what: str
    expected: str
    found: str
    offset: Count
    """In characters of the output."""
    line: Positive
    column: Positive
    more: Count
    """Places after it that are alike."""
    cause: CauseDocument | None


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
    """The end of the turn that was not seen; None where one was, or none is needed."""
    partial_call: UnfinishedCallDocument | None
    """The call that the end cut."""
    malformed_calls: tuple[UnfinishedCallDocument, ...]
    call_statuses: tuple[Status, ...]
    """Of `tool_calls`, one each."""
    spans: tuple[SpanDocument, ...]
    """Every character of the text is in one of them."""
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """What is not as the template writes it; with `--explain` alone."""


class FunctionDeltaDocument(JsonDocument, frozen=True):
    """What came of a function: its name, or more of its arguments."""

    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET


class CallDeltaDocument(JsonDocument, frozen=True):
    """What came of a call; its first delta has the id."""

    index: Count
    id: str | UnsetType = UNSET
    type: Literal["function"] | UnsetType = UNSET
    function: FunctionDeltaDocument | UnsetType = UNSET


class DeltaDocument(JsonDocument, frozen=True):
    """A delta as OpenAI streams it: one of these."""

    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: tuple[CallDeltaDocument, ...] | UnsetType = UNSET
    finish_reason: FinishReason | UnsetType = UNSET


class StreamedDocument(JsonDocument, frozen=True, kw_only=True):
    """One line of a stream: a chunk and its deltas. The last line has all the other keys, too."""

    chunk: str | None
    """A piece of the text; None for its end."""
    deltas: tuple[DeltaDocument, ...]
    status: Status | UnsetType = UNSET
    missing_end: str | UnsetType | None = UNSET
    """The end of the turn that was not seen; None where one was, or none is needed."""
    partial_call: UnfinishedCallDocument | UnsetType | None = UNSET
    """The call that the end cut."""
    malformed_calls: tuple[UnfinishedCallDocument, ...] | UnsetType = UNSET
    template: TemplateDocument | UnsetType = UNSET
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """What is not as the template writes it; with `--explain` alone."""


def parsed_document(
    message: ParsedMessage,
    text: str,
    template: NamedTemplate | None = None,
    why: Sequence[DeviationExplanation] | None = None,
) -> ParsedDocument:
    """Return a message with its statuses, the parts of its text, and what explains it."""
    spans = [
        SpanDocument(each.start, each.end, each.kind, text[each.start : each.end])
        for each in message.spans
    ]
    return convert(
        {
            **({} if template is None else {"template": named_template(template)}),
            # The call that the end cut stands apart.
            **replace(message, partial_call=None).to_openai(),
            **_outcome(message),
            "call_statuses": [call.status for call in message.tool_calls],
            "spans": spans,
            **_explained(why, text),
        },
        ParsedDocument,
    )


def message_document(
    message: ParsedMessage,
    text: str,
    template: NamedTemplate | None = None,
    why: Sequence[DeviationExplanation] | None = None,
) -> dict[str, Json]:
    """Return the same as values that JSON can hold."""
    return json_of(parsed_document(message, text, template, why))


def chunk_document(chunk: str, deltas: Sequence[Delta]) -> dict[str, Json]:
    """Return one chunk and its deltas as OpenAI streams them."""
    return json_of(StreamedDocument(chunk=chunk, deltas=_deltas(deltas)))


def end_document(
    deltas: Sequence[Delta],
    message: ParsedMessage,
    text: str,
    template: NamedTemplate,
    why: Sequence[DeviationExplanation] | None = None,
) -> dict[str, Json]:
    """Return what the end of the text gives, and how the message came out."""
    return json_of(
        StreamedDocument(
            chunk=None,
            deltas=_deltas(deltas),
            template=named_template(template),
            **_outcome(message),
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


def _unfinished(call: ParsedCall) -> UnfinishedCallDocument:
    return UnfinishedCallDocument(call.id or None, call.name, call.arguments)


def _explained(why: Sequence[DeviationExplanation] | None, text: str) -> dict[str, Any]:
    return {} if why is None else {"explanations": tuple(_explanations(why, text))}


def _explanations(why: Sequence[DeviationExplanation], text: str) -> Iterator[ExplanationDocument]:
    # What tries causes takes long to import, and most outputs need no explanation.
    from .explanation import cause_words, line_and_column  # noqa: PLC0415

    for each in why:
        cause = each.cause
        line, column = line_and_column(text, each.offset)
        yield copy_fields(
            ExplanationDocument,
            each,
            what=each.deviation,
            line=line,
            column=column,
            cause=None
            if cause is None
            else copy_fields(CauseDocument, cause, words=cause_words(cause, each.deviation).plain),
        )
