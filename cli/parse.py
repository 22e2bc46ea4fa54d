"""``autoparser parse``: from a model's output to an assistant message."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    ResultOptions,
    TokenizerOption,
    help_order,
)
from .output import Outlet, open_outlet
from .request import (
    ChatRequestOptions,
    Forgiven,
    ForgiveOption,
    MarkupOption,
    MarkupPlace,
    RequestValues,
    UnclosedReasoning,
    UnclosedReasoningOption,
    read_output,
    warn_of_request,
)
from .source import STANDARD_INPUT, LearnedSource

NOT_ALL_READ = 1
"""The exit code if a call is malformed, unknown or in another format, a closer is stray, or the
output was cut."""

CHUNK = 4


class ReasoningPlace(StrEnum):
    """The places of reasoning in a message."""

    SEPARATE = "separate"
    INLINE = "inline"
    RAW = "raw"


@help_order(
    "tools input_file prompt chat_template_kwargs switch tool_choice json_schema "
    "strip_code_fence no_parallel"
)
def parse(
    *,
    request_options: ChatRequestOptions,
    input_file: Annotated[
        Path | None,
        typer.Option(
            "--input", "-i", metavar="FILE", help="The model's output. [default: standard input]"
        ),
    ] = None,
    strip_code_fence: Annotated[bool, "Remove a Markdown code fence around that answer."] = False,
    cut: Annotated[bool, "The output was cut off on purpose, as by a token limit."] = False,
    reasoning: Annotated[
        ReasoningPlace,
        "Where reasoning goes: separate; inline, into the content without its markers; raw,"
        " into the content with its markers.",
    ] = ReasoningPlace.SEPARATE,
    keep_reasoning: Annotated[
        bool, "Treat unclosed reasoning as reasoning to the end, with any calls in it."
    ] = False,
    unclosed_reasoning: UnclosedReasoningOption = UnclosedReasoning.CALLS,
    forgive: ForgiveOption = Forgiven.REPAIRS,
    markup: MarkupOption = MarkupPlace.KEEP,
    whole_calls: Annotated[bool, "Stream a tool call only once it is complete."] = False,
    explain: Annotated[
        bool, "Explain where and why the output deviates from the template."
    ] = False,
    stream: Annotated[bool, "Show the deltas of a stream."] = False,
    chunk: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help=f"Characters per chunk of --stream. [default: {CHUNK}]"
        ),
    ] = None,
    tokenizer: TokenizerOption = None,
    source: LearnedSource,
    result: ResultOptions,
) -> int:
    """Parse a model's output into reasoning, content and tool calls.

    Prints the assistant message and what each part of the text is, or the deltas of a stream. JSON
    is one document, or JSON Lines for a stream. Without --tools, calls of any function are
    accepted.

    Exit code: 0 if everything was read, 1 if a call is malformed, unknown or in another format, a
    stray closing marker was dropped, or the output was cut off, 2 if there is nothing to parse.
    """
    if chunk is not None and not stream:
        raise AutoparserError("--chunk needs --stream", hint="add --stream")
    if strip_code_fence and request_options.json_schema is None:
        raise AutoparserError(
            "--strip-code-fence needs --json-schema", hint="add --json-schema FILE"
        )
    if source.source == STANDARD_INPUT and (
        input_file is None or str(input_file) == STANDARD_INPUT
    ):
        raise AutoparserError(
            "the template and the output cannot both come from standard input",
            hint="give the output with --input FILE",
        )
    as_json = result.is_json
    source.check()
    request = request_options.read()
    text = read_output(input_file)

    analysis = source.learned_format(tokenizer)
    parser = analysis.parser(
        request.tools,
        chat_template_kwargs=request.setting,
        **request.options,
        reasoning=reasoning.value,
        unclosed_reasoning="keep" if keep_reasoning else unclosed_reasoning.value,
        forgive=forgive.value,
        markup=markup.value,
        call_deltas="whole" if whole_calls else "incremental",
        strip_code_fence=strip_code_fence,
        # Only ids that the model wrote are shown; in JSON the other calls are numbered.
        call_ids=lambda _name, _index: "",
    )
    warn_of_request(source.label, analysis, request)
    why = _explain_output(analysis, request, text, complete=not cut) if explain else None
    give = partial(_write_stream, size=chunk or CHUNK) if stream else _write_message
    with open_outlet(result.output) as outlet:
        message = give(analysis, parser, text, why, outlet, complete=not cut, as_json=as_json)

    return 0 if wings.all_read(message) else NOT_ALL_READ


def _explain_output(
    analysis: wings.LearnedFormat, request: RequestValues, text: str, *, complete: bool
) -> tuple[wings.DeviationExplanation, ...]:
    """Explain deviations from the template's writing, also by the template's other prompts."""

    def parser_after(
        prompt: str | None, setting: Mapping[str, object] | None
    ) -> wings.OutputParser:
        options = replace(request, prompt=prompt).options
        return analysis.parser(request.tools, chat_template_kwargs=setting, **options)

    prompt, setting = request.prompt, request.setting
    begun = analysis.begun(request.tools, prompt=prompt, chat_template_kwargs=setting)[0]
    others = [
        wings.PromptedParser(
            type(begun)(format_, opening), parser_after(opening.text, opening.setting)
        )
        for format_ in analysis.formats
        for opening in format_.openings
    ]
    return wings.explain_output(
        wings.OutputReading(begun, parser_after(prompt, setting), others), text, complete=complete
    )


def _write_message(
    analysis: wings.LearnedFormat,
    parser: wings.OutputParser,
    text: str,
    why: Sequence[wings.DeviationExplanation] | None,
    outlet: Outlet,
    *,
    complete: bool,
    as_json: bool,
) -> wings.ParsedMessage:
    message = parser.parse(text, complete=complete)
    if as_json:
        outlet.json(wings.message_document(message, text, analysis.template, why))
    elif why is None:
        advice = _advice(analysis, message)
        outlet.report(wings.message_report(message, text, outlet.width, advice))
    else:
        # What was asked for comes last.
        outlet.report(wings.message_report(message, text, outlet.width))
        _write_explanations(why, text, outlet)
    return message


def _advice(analysis: wings.LearnedFormat, message: wings.ParsedMessage) -> str:
    """Return advice if a message was not read, or if the format has no calls."""
    if analysis.lacks_calls:
        source = shlex.quote(analysis.template.origin or "TEMPLATE")
        return f"autoparser learn {source} --examples FILE (it renders no tool calls)"
    read = wings.all_read(message) and not message.missing_end
    read = read and not any(call.schema_errors for call in message.tool_calls)
    return "" if read else "--explain says where the text differs from the template, and why"


def _write_explanations(
    why: Sequence[wings.DeviationExplanation] | None, text: str, outlet: Outlet
) -> None:
    if why is None:
        return

    outlet.report(wings.explanation_report(why, text, outlet.width))


def _write_stream(
    analysis: wings.LearnedFormat,
    parser: wings.OutputParser,
    text: str,
    why: Sequence[wings.DeviationExplanation] | None,
    outlet: Outlet,
    *,
    size: int,
    complete: bool,
    as_json: bool,
) -> wings.ParsedMessage:
    stream = parser.stream()
    for start in range(0, len(text), size):
        chunk = text[start : start + size]
        deltas = stream.feed(chunk)
        if as_json:
            outlet.json(wings.chunk_document(chunk, deltas), indent=None)
        else:
            outlet.report(wings.chunk_report(chunk, deltas, size))
    deltas = stream.finish(complete=complete)
    message = stream.message
    if as_json:
        end = wings.end_document(deltas, message, text, analysis.template, why)
        outlet.json(end, indent=None)
    else:
        outlet.report(wings.end_report(deltas, message, size))
        _write_explanations(why, text, outlet)
    return message
