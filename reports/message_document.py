r"""A parsed message as a document, for which no report is imported.

``docs/parse.schema.json`` is made of the document classes here. Of `Hi.` and one call, as
`fixtures/templates/j1-json-in-tags.jinja` writes them, the document has, among others,

    "role": "assistant", "content": "Hi.", "finish_reason": "tool_calls", "status": "ok",
    "tool_calls": [{"id": "call_0", "type": "function",
                    "function": {"name": "look", "arguments": "{\"city\": \"Oslo\"}"}}],
    "spans": [{"start": 0, "end": 3, "kind": "content", "text": "Hi."}, …]
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
    document_json,
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
    """The function's name, e.g. `"get_weather"`."""
    arguments: str
    r"""The arguments, e.g. `"{\"city\": \"Oslo\", \"days\": 3}"`."""


class ToolCallDocument(JsonDocument, frozen=True):
    """A call in OpenAI's form."""

    id: str
    """The call's id, e.g. `"call_0"`; made up if the output has none."""
    type: Literal["function"]
    """The kind of tool, always `"function"`."""
    function: FunctionDocument
    """The called function, e.g. `get_weather`."""


class UnfinishedCallDocument(JsonDocument, frozen=True):
    """A call that was truncated, or that could not be read."""

    id: str | None
    """The call's id, e.g. `"call_0"`; null if none was read."""
    name: str
    """The function's name, e.g. `"get_weather"`."""
    arguments: str
    r"""The received part of the arguments, e.g. `"{\"city\": \"Oslo\", \"da"`."""


class SchemaErrorDocument(JsonDocument, frozen=True):
    """A violation of the tool's schema by a call's arguments."""

    call: Count
    """Index of the call in `tool_calls`, e.g. `0`."""
    place: str
    """The place in the arguments, such as `items[0].id`; empty for the arguments as a whole."""
    keyword: str
    """The keyword in the schema, such as `properties.days.type`."""
    message: str
    """The violation in words, e.g. `"'x' is not of type 'integer'"`."""


class SpanDocument(JsonDocument, frozen=True):
    """A part of the text and its kind."""

    start: Count
    """Offset of its first character in the text, e.g. `0`."""
    end: Count
    """Offset after its last character, e.g. `22`."""
    kind: SpanKind
    """The kind of text, e.g. `"markup"`."""
    text: str
    r"""The characters, e.g. `"<tool_call>\n{\"name\": \""`."""


class CauseDocument(JsonDocument, frozen=True):
    """A likely cause of a deviation."""

    kind: str
    """The kind of cause, e.g. `"special tokens stripped"`."""
    markers: tuple[str, ...]
    """The stripped or omitted markers, e.g. `["<|im_end|>"]`."""
    setting: SettingValues
    """The switches of the other prompt, e.g. `{"enable_thinking": false}`; empty for defaults."""
    words: str
    """The cause as a sentence, e.g. `"the model uses another format than this template"`."""


class ExplanationDocument(JsonDocument, frozen=True):
    """One place with the expected text, the found text, and the likely cause."""

    what: str
    """The deviation, e.g. `"missing text"`."""
    expected: str
    r"""The text that the template writes there, e.g. `"\n</tool_call>"`."""
    found: str
    r"""The text of the output there, e.g. `"}}\n</tool_call>"`; empty if nothing is there."""
    offset: Count
    """Offset in the output, in characters, e.g. `80`."""
    line: Positive
    """The line of the output, from 1, e.g. `2`."""
    column: Positive
    """The column, from 1, e.g. `69`."""
    more: Count
    """Number of later places with the same deviation, e.g. `0`."""
    cause: CauseDocument | None
    """A likely cause, e.g. `"special tokens stripped"`; null if none was found."""


class EngineOutcomeDocument(JsonDocument, frozen=True):
    """How the parsers of an engine read the output."""

    engine: str
    """The engine and its version, such as `"vllm 0.32.0"`; its name alone if it does not start."""
    tool_parser: str | None
    """The parser of tool calls, e.g. `"hermes"`, or null for none."""
    reasoning_parser: str | None
    """The parser of reasoning, e.g. `"qwen3"`, or null for none."""
    right: bool | None
    """Whether they read it as this package does, e.g. `false`; null without an answer."""
    part: str
    """The part of the message that differs, such as `content`; empty if none does."""
    expected: str
    """This package's reading of that part, e.g. `"Let me look."`."""
    actual: str
    r"""The engine's reading of that part, e.g. `"Let me look.\n<tool_call>…"`."""
    left_out: str
    """Why the engine was not asked, or did not answer in time, e.g. `"the output has calls, and no
    tools are offered"`; empty if it answered."""
    way_out: str
    """An action that lets the engine be asked, e.g. `"add --tools FILE"`, or empty."""


class LossCauseDocument(JsonDocument, frozen=True):
    """Why a call was lost or wrong."""

    origin: str
    """The part of a system with the fault, e.g. `model`; `nothing` if nothing was lost."""
    reason: str
    """The reason, such as `special tokens were stripped`."""
    lost: bool
    """Whether a call is missing or unusable, e.g. `false` if it was repaired."""
    words: str
    """The cause in a sentence, e.g. `"The token limit: the output ends inside a call …"`."""
    way_out: str
    """An action against the cause, e.g. `raise max_tokens, or ask the model to go on`; or empty."""
    offset: Count | None
    """Offset of the departure in the output, in characters, e.g. `80`; null without a departure."""
    engines: tuple[EngineOutcomeDocument, ...]
    """The readings of engines, e.g. of `"vllm 0.32.0"`, with `--python`."""


class DepartureDocument(JsonDocument, frozen=True):
    """A deviation from the template's writing in a recovered call."""

    call: Count
    """The index of the call in `tool_calls`, e.g. `0`."""
    what: str
    """The deviation, such as "`</tool_call>` is missing"."""


class ParsedDocument(JsonDocument, frozen=True, kw_only=True):
    """An output as OpenAI's message, with its statuses and the parts of its text."""

    template: TemplateDocument | UnsetType = UNSET
    """The template whose format was used, e.g. from `"chat_template.jinja"`."""
    role: Literal["assistant"]
    """The speaker, always `"assistant"`."""
    content: str | None
    """The text of the answer, e.g. `"Let me look."`; null if there is none."""
    reasoning_content: str | UnsetType = UNSET
    """The reasoning, e.g. `"Two cities, so two lookups."`."""
    tool_calls: tuple[ToolCallDocument, ...] | UnsetType = UNSET
    """The calls, e.g. one of `get_weather`."""
    finish_reason: FinishReason | UnsetType = UNSET
    """Why the output ended, e.g. `"tool_calls"`."""
    status: Status
    """How it was parsed, e.g. `"repaired"`."""
    missing_end: str | None
    """The missing end of the turn, e.g. `"<|im_end|>"`; null if it was seen or is not required."""
    partial_call: UnfinishedCallDocument | None
    r"""The truncated call, e.g. of `get_weather` with the arguments `"{\"city\": \"Os"`."""
    malformed_calls: tuple[UnfinishedCallDocument, ...]
    """The calls with the status `"malformed"`, their partial arguments closed; usually `[]`."""
    call_statuses: tuple[Status, ...]
    """The status of each of `tool_calls`, e.g. `["repaired"]`."""
    schema_errors: tuple[SchemaErrorDocument, ...]
    """Violations of the offered tool's schema by arguments, e.g. at `"days"`; such calls are calls
    all the same."""
    departures: tuple[DepartureDocument, ...] | UnsetType = UNSET
    """Differences between recovered calls and the template's own, e.g. a missing `</tool_call>`."""
    unread: str | UnsetType = UNSET
    r"""The text of calls that could not be read, e.g. `"<tool_call>\n{\"name\": …"`, with `--markup
    separate`."""
    spans: tuple[SpanDocument, ...]
    """Parts of the text, e.g. one of `"markup"`; every character belongs to one of them."""
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """Deviations from the template's writing, e.g. `"missing text"`; only with `--explain`."""
    cause: LossCauseDocument | UnsetType = UNSET
    """Why a call was lost or wrong, e.g. `"the output was truncated"`; only with `--explain`."""


class FunctionDeltaDocument(JsonDocument, frozen=True):
    """New text of a function: its name, or more of its arguments."""

    name: str | UnsetType = UNSET
    """The function's name, e.g. `"get_weather"`, once for each call."""
    arguments: str | UnsetType = UNSET
    r"""More of the arguments, e.g. `"{\"city\": \"Os"`."""


class CallDeltaDocument(JsonDocument, frozen=True):
    """New text of a call; its first delta has the id."""

    index: Count
    """The index of the call in the message, e.g. `0`."""
    id: str | UnsetType = UNSET
    """The call's id, e.g. `"call_0"`."""
    type: Literal["function"] | UnsetType = UNSET
    """The kind of tool, always `"function"`, beside the id."""
    function: FunctionDeltaDocument | UnsetType = UNSET
    """The new text, e.g. the name `"get_weather"`."""


class DeltaDocument(JsonDocument, frozen=True):
    """A delta as OpenAI streams it, with one of these keys."""

    content: str | UnsetType = UNSET
    """More of the answer, e.g. `"Let"`."""
    reasoning_content: str | UnsetType = UNSET
    """More of the reasoning, e.g. `"o cities"`."""
    tool_calls: tuple[CallDeltaDocument, ...] | UnsetType = UNSET
    """New text of calls, e.g. of the call with the index `0`."""
    finish_reason: FinishReason | UnsetType = UNSET
    """Why the output ended, e.g. `"tool_calls"`; only in the last delta."""


class StreamedDocument(JsonDocument, frozen=True, kw_only=True):
    """One line of a stream: a chunk and its deltas. The last line also has all other keys."""

    chunk: str | None
    """A piece of the text, e.g. `"<too"`; null at its end."""
    deltas: tuple[DeltaDocument, ...]
    """The new parts that the chunk completes, e.g. `[{"content": "Let"}]`; often none."""
    status: Status | UnsetType = UNSET
    """How the output was parsed, e.g. `"cut"`."""
    missing_end: str | UnsetType | None = UNSET
    """The missing end of the turn, e.g. `"<|im_end|>"`; null if it was seen or is not required."""
    partial_call: UnfinishedCallDocument | UnsetType | None = UNSET
    """The truncated call, e.g. of `get_weather`."""
    malformed_calls: tuple[UnfinishedCallDocument, ...] | UnsetType = UNSET
    """The calls with the status `"malformed"`, their partial arguments closed; usually `[]`."""
    schema_errors: tuple[SchemaErrorDocument, ...] | UnsetType = UNSET
    """Violations of the offered tool's schema by arguments, e.g. at `"days"`; such calls are calls
    all the same."""
    departures: tuple[DepartureDocument, ...] | UnsetType = UNSET
    """Differences between recovered calls and the template's own, e.g. a missing `</tool_call>`."""
    unread: str | UnsetType = UNSET
    r"""The text of calls that could not be read, e.g. `"<tool_call>\n{\"name\": …"`, with `--markup
    separate`."""
    template: TemplateDocument | UnsetType = UNSET
    """The template whose format was used, e.g. from `"chat_template.jinja"`."""
    explanations: tuple[ExplanationDocument, ...] | UnsetType = UNSET
    """Deviations from the template's writing, e.g. `"missing text"`; only with `--explain`."""
    cause: LossCauseDocument | UnsetType = UNSET
    """Why a call was lost or wrong, e.g. `"the output was truncated"`; only with `--explain`."""


def parsed_document(
    message: ParsedMessage,
    text: str,
    template: NamedTemplate | None = None,
    why: ExplainedOutput | None = None,
) -> ParsedDocument:
    """Return a message with its statuses, the parts of its text, and explanations."""
    # With their texts: in another language, offsets may count units of UTF-16.
    spans = [
        SpanDocument(span.start, span.end, span.kind, text[span.start : span.end])
        for span in message.spans
    ]
    return convert(
        {
            # The message inside of an acceptance has its template's name outside.
            **({} if template is None else {"template": named_template(template)}),
            # A call that the end cut off has its own field, `partial_call`.
            **replace(message, partial_call=None).to_openai(),
            **({"finish_reason": message.finish_reason} if message.finish_reason else {}),
            **_outcome(message),
            "call_statuses": [call.status for call in message.tool_calls],
            **_fact_fields(message),
            "spans": spans,
            **_explanation_fields(why, text),
        },
        ParsedDocument,
    )


def chunk_document(chunk: str, deltas: Sequence[Delta]) -> dict[str, Json]:
    """Return one chunk and its deltas as OpenAI streams them."""
    return document_json(StreamedDocument(chunk=chunk, deltas=_deltas(deltas)))


def end_document(
    deltas: Sequence[Delta],
    message: ParsedMessage,
    text: str,
    template: NamedTemplate,
    why: ExplainedOutput | None = None,
) -> dict[str, Json]:
    """Return the deltas at the end of the text, and the message's status."""
    return document_json(
        StreamedDocument(
            chunk=None,
            deltas=_deltas(deltas),
            template=named_template(template),
            **_outcome(message),
            **_fact_fields(message),
            **_explanation_fields(why, text),
        )
    )


def _deltas(deltas: Sequence[Delta]) -> tuple[DeltaDocument, ...]:
    return tuple(convert(delta.to_openai(), DeltaDocument) for delta in deltas)


def _outcome(message: ParsedMessage) -> dict[str, Any]:
    partial = message.partial_call
    return {
        "status": message_status(message),
        "missing_end": message.missing_end or None,
        "partial_call": None if partial is None else _unfinished_document(partial),
        "malformed_calls": tuple(map(_unfinished_document, message.malformed_calls)),
    }


def _fact_fields(message: ParsedMessage) -> dict[str, Any]:
    found = [
        copy_fields(SchemaErrorDocument, breach, call=at)
        for at, call in enumerate(message.tool_calls)
        for breach in call.schema_errors
    ]
    differ = [
        DepartureDocument(at, departure)
        for at, call in enumerate(message.tool_calls)
        for departure in call.departures
    ]
    # Empty is a value here: nothing was unreadable, while the option was given.
    unread = {} if message.unread is None else {"unread": message.unread}
    recovered = {"departures": tuple(differ)} if differ else {}
    return {"schema_errors": tuple(found), **recovered, **unread}


def _unfinished_document(call: ParsedCall) -> UnfinishedCallDocument:
    # Null for a missing id, which some formats do not write at all.
    return UnfinishedCallDocument(call.id or None, call.name, call.arguments)


def _explanation_fields(why: ExplainedOutput | None, text: str) -> dict[str, Any]:
    # Absent without `--explain`: null means that no cause was found.
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
