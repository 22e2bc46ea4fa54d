r"""``autoparser parse``: from a model's output to an assistant message.

The exit code shows whether a call or the end was lost:

    >>> parser = wings.analyze("fixtures/templates/j1-json-in-tags.jinja").parser()
    >>> _exit_code(parser.parse("Hi.<|im_end|>"), None)
    0
    >>> cut = parser.parse('<tool_call>\n{"name": "look", "argum')
    >>> str(cut.status), _exit_code(cut, None)
    ('cut', 1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    JsonOption,
    OutputOption,
    TokenizerOption,
    chosen_form,
    excludes,
    format_option,
    help_order,
    needs,
    option_rules,
)
from .output import Outlet, open_outlet, print_note, status_line
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
"""The exit code if a call is lost or unknown, a closer is stray, or the output was cut."""

CHUNK = 4
"""Characters per chunk of a stream, without `--chunk`."""


class ParsedForm(StrEnum):
    """The forms of a parsed output."""

    TEXT = "text"
    JSON = "json"
    ISSUE = "issue"


class ReasoningPlace(StrEnum):
    """The places of reasoning in a message."""

    SEPARATE = "separate"
    INLINE = "inline"
    RAW = "raw"


@help_order(
    "tools input_file prompt chat_template_kwargs switch tool_choice json_schema "
    "strip_code_fence no_parallel"
)
@option_rules(
    needs("--chunk", "--stream"),
    needs("--strip-code-fence", "--json-schema", "FILE"),
    needs("--python", "--explain")._replace(other="--explain or --format issue"),
    needs("--tool-call-parser", "--python", "PATH/bin/python"),
    needs("--reasoning-parser", "--python", "PATH/bin/python"),
    excludes("--format issue", "--stream"),
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
    cut: Annotated[bool, "The output was truncated, e.g. by max_tokens."] = False,
    reasoning: Annotated[
        ReasoningPlace,
        "Where reasoning goes: separate; inline, into the content without its markers; raw,"
        " into the content with its markers.",
    ] = ReasoningPlace.SEPARATE,
    unclosed_reasoning: UnclosedReasoningOption = UnclosedReasoning.CALLS,
    forgive: ForgiveOption = Forgiven.REPAIRS,
    markup: MarkupOption = MarkupPlace.KEEP,
    whole_calls: Annotated[bool, "Stream a tool call only once it is complete."] = False,
    explain: Annotated[
        bool, "Explain where the output deviates from the template, and what lost its calls."
    ] = False,
    python: Annotated[
        list[str] | None,
        "PATH",
        "With --explain: the bin/python of an environment with vLLM, SGLang or llama.cpp, whose"
        " parsers read the output, too. Can be repeated.",
    ] = None,
    tool_call_parser: Annotated[
        str | None, "NAME", "The tool parser of your server. [default: the best one]"
    ] = None,
    reasoning_parser: Annotated[
        str | None, "NAME", "The reasoning parser of your server. [default: the best one]"
    ] = None,
    stream: Annotated[bool, "Show the deltas of a stream."] = False,
    chunk: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help=f"Characters per chunk of --stream. [default: {CHUNK}]"
        ),
    ] = None,
    tokenizer: TokenizerOption = None,
    source: LearnedSource,
    form: Annotated[
        ParsedForm | None,
        format_option(
            "text; json (see docs/json-schema.md); or issue, Markdown for a bug report with all"
            " of --explain and the smallest failing part. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> int:
    """Parse a model's output into reasoning, content and tool calls.

    Prints the assistant message and the role of each part of the text, or the deltas of a stream.
    JSON is one document, or JSON Lines for a stream. Without --tools, calls of any function are
    accepted.

    Exit code: 0 if everything was parsed, also with repairs. 1 if a call is lost (it cannot be
    parsed, is in another format, or in reasoning that is never closed) or its tool is unknown, a
    stray closing marker was dropped, the output was truncated, or --explain names another reason
    for a lost call. 2 if there is nothing to parse.
    """
    # Without --input, the output is read from standard input.
    if source.source == STANDARD_INPUT and (
        input_file is None or str(input_file) == STANDARD_INPUT
    ):
        raise AutoparserError(
            "the template and the output cannot both come from standard input",
            hint="give the output with --input FILE",
        )
    form = chosen_form(form, as_json, ParsedForm.JSON) or ParsedForm.TEXT
    as_issue = form is ParsedForm.ISSUE
    explain = explain or as_issue
    pair = (tool_call_parser, reasoning_parser)
    # Before the analysis, so that a wrong --python is reported at once.
    engines = _asked_engines(python, source.source)
    source.check()
    request = request_options.read()
    text = read_output(input_file)

    analysis = source.learned_format(tokenizer)
    parser = analysis.parser(
        request.tools,
        chat_template_kwargs=request.setting,
        **request.options,
        reasoning=reasoning.value,
        unclosed_reasoning=unclosed_reasoning.value,
        forgive=forgive.value,
        markup=markup.value,
        call_deltas="whole" if whole_calls else "incremental",
        strip_code_fence=strip_code_fence,
        # Only ids that the model wrote are shown; in JSON the other calls are numbered.
        call_ids=lambda _name, _index: "",
    )
    warn_of_request(source.label, analysis, request)
    seeks_calls = unclosed_reasoning is UnclosedReasoning.CALLS
    message = why = None
    if explain:
        message = parser.parse(text, complete=not cut)
        # An explanation compares with the template, whatever the options make of the message.
        reading = _plain_reading(analysis, request)
        rejected = message.status is wings.Status.NEEDS_REPAIRS
        why = _explain_output(
            analysis, request, reading, text, complete=not cut, shrink=as_issue, rejected=rejected
        )
        tools = request_options.tools
        # For the commands that the explanation suggests.
        why = replace(
            why,
            template=wings.shell_word(source.source or why.template),
            tools=why.tools if tools is None else wings.shell_word(str(tools)),
            teachable=analysis.lacks_calls,
        )
        if engines:
            question = _engine_question(source.label, analysis, request, reading)
            why = _with_engines(why, question, text, engines, pair, shrink=as_issue)
    if message is not None and why is not None and as_issue:
        message = _with_lost_call(parser, message, text, seeks_calls=seeks_calls)
        with open_outlet(output) as outlet:
            outlet.text(_issue(analysis, request, request_options, message, text, why))
        print_note("review it before posting: it contains the output, and the tools that it names")
        return _exit_code(message, why)
    give = partial(_write_stream, size=chunk or CHUNK) if stream else _write_message
    as_json = form is ParsedForm.JSON
    writing = _Writing(analysis, text, why, seeks_calls=seeks_calls, as_json=as_json)
    with open_outlet(output) as outlet:
        return _exit_code(give(parser, writing, outlet, complete=not cut), why)


def _exit_code(message: wings.ParsedMessage, why: wings.ExplainedOutput | None) -> int:
    """Return `NOT_ALL_READ` if a call is lost, also where only an explanation shows that."""
    if why is not None and why.cause.lost:
        # Without its markers, or where the template writes none, a call is read as content.
        as_content = why.cause.unmarked or why.cause.reason is wings.LossReason.NO_CALLS
        return NOT_ALL_READ if as_content else _exit_code(message, None)
    return 0 if wings.all_read(message) else NOT_ALL_READ


class _Writing(NamedTuple):
    """An output to be parsed and written, and the form in which it is written."""

    analysis: wings.LearnedFormat
    """The format that reads it, e.g. that of `model/chat_template.jinja`."""
    text: str
    r"""The model's output, e.g. `"<think>\nThe forecast, then the rooms.\n</think>…"`."""
    why: wings.ExplainedOutput | None
    """The explanation that was asked for, e.g. that of `--explain`, or None."""
    seeks_calls: bool
    """Whether a call in reasoning that is never closed is lost, e.g. in `"<think>…<tool_call>…"`,
    and not asked to stay there."""
    as_json: bool
    """Whether the result is written as JSON, e.g. with `--json`."""


def _with_lost_call(
    parser: wings.OutputParser, message: wings.ParsedMessage, text: str, *, seeks_calls: bool
) -> wings.ParsedMessage:
    """Return a message with its status: `lost call` if open reasoning has one that was sought."""
    # The usual output does not import the module: reasoning that is never closed ends the turn.
    kinds = {span.kind for span in message.spans}
    if not seeks_calls or message.tool_calls or "reasoning" not in kinds or "content" in kinds:
        return message
    found = wings.call_in_reasoning(parser, message, text)
    lost = found is not None and not found.closed
    return replace(message, status=wings.Status.LOST) if lost else message


def _plain_parser(
    analysis: wings.LearnedFormat, request: RequestValues, setting: Mapping[str, object] | None
) -> wings.OutputParser:
    """Return a parser of a request that reads as by default."""
    return analysis.parser(request.tools, chat_template_kwargs=setting, **request.options)


def _plain_reading(analysis: wings.LearnedFormat, request: RequestValues) -> wings.OutputReading:
    """Return the parser of a request, and those after the template's other prompts."""
    prompt, setting = request.prompt, request.setting
    begun = analysis.begun(request.tools, prompt=prompt, chat_template_kwargs=setting)[0]
    # The output may belong after another prompt, such as one that opens reasoning.
    others = [
        wings.PromptedParser(
            type(begun)(format_, opening),
            _plain_parser(analysis, request.with_values(prompt=opening.text), opening.setting),
        )
        for format_ in analysis.formats
        for opening in format_.openings
    ]
    return wings.OutputReading(begun, _plain_parser(analysis, request, setting), others)


def _explain_output(
    analysis: wings.LearnedFormat,
    request: RequestValues,
    reading: wings.OutputReading,
    text: str,
    *,
    complete: bool,
    shrink: bool,
    rejected: bool,
) -> wings.ExplainedOutput:
    """Explain deviations from the template's writing, also by the template's other prompts.

    `shrink` also searches the smallest part that deviates like the whole. A call is `rejected` if
    the request's own level of forgiveness leaves it in the content.
    """
    compared = wings.compare_output(reading, text, complete=complete)
    # Whether the request's own limits lost a call shows in a parse without them. An empty list of
    # tools allows no call, None allows any.
    allowed = request.with_values(tool_choice="auto", parallel=True, tools=request.tools or None)
    unrestricted = (
        None
        if vars(allowed) == vars(request)
        else _plain_parser(analysis, allowed, allowed.setting)
    )
    cause = wings.loss_cause(
        reading,
        text,
        compared,
        unrestricted=unrestricted,
        prompt_known=request.prompt is not None or request.setting is not None,
        rejected=rejected,
        complete=complete,
    )
    smallest = ""
    # Each try parses the output again, so only for a bug report.
    if shrink and cause.place is not None:
        shows = wings.same_departure(reading, cause.place, text, complete=complete)
        smallest = wings.smallest_part(text, shows)
    return wings.ExplainedOutput(compared.places, cause, smallest=smallest)


ParserNames = tuple[str | None, str | None]
"""Names of a tool parser and a reasoning parser, as a server's flags have them."""


def _asked_engines(pythons: list[str] | None, source: str | None) -> list[tuple[str, str]]:
    """Return the engines to ask, each with its Python. Raises AutoparserError."""
    if not pythons:
        return []
    # An output is parsed without the commands about engines, unless one is named.
    from .engines import find_engines

    return find_engines(pythons, source)


def _with_engines(
    why: wings.ExplainedOutput,
    question: wings.OutputQuestion,
    text: str,
    engines: list[tuple[str, str]],
    pair: ParserNames,
    *,
    shrink: bool,
) -> wings.ExplainedOutput:
    """Return an explanation with the readings of engines."""
    named = wings.ParserPair(*pair) if any(pair) else None
    with status_line("asking engines") as say:
        read = wings.read_by_engines(question, text, engines, named, shrink=shrink, say=say)
    if not read:
        print_note("no engine was asked, since the output is ambiguous")
    return why.with_engines(read)


def _engine_question(
    label: str,
    analysis: wings.LearnedFormat,
    request: RequestValues,
    reading: wings.OutputReading,
) -> wings.OutputQuestion:
    """Return the request as engines are asked. Raises AutoparserError for a saved format."""
    if not isinstance(analysis, wings.Analysis):
        raise AutoparserError(
            "an engine needs the template, but a saved format has only its digest",
            file=label,
            hint="name the template",
        )
    tools = request.tools or ()
    return wings.OutputQuestion(
        analysis, reading.parser, reading.prompt_format, request.prompt, tools
    )


def _issue(
    analysis: wings.LearnedFormat,
    request: RequestValues,
    options: ChatRequestOptions,
    message: wings.ParsedMessage,
    text: str,
    why: wings.ExplainedOutput,
) -> str:
    template, digest = analysis.template, analysis.sha256
    given = [f"{option} {value}" for option, value in options.given.items()]
    # Only what differs from the defaults: the issue's reader repeats this call.
    given += [f"--tool-choice {request.tool_choice}"] * (request.tool_choice != "auto")
    given += ["--no-parallel"] * (not request.parallel)
    return wings.issue_markdown(
        wings.ReportedOutput(
            template, digest, __version__, text, message, why, request.tools, " ".join(given)
        )
    )


def _write_message(
    parser: wings.OutputParser, writing: _Writing, outlet: Outlet, *, complete: bool
) -> wings.ParsedMessage:
    """Write a parsed output, and return the message."""
    analysis, text, why = writing.analysis, writing.text, writing.why
    message = parser.parse(text, complete=complete)
    message = _with_lost_call(parser, message, text, seeks_calls=writing.seeks_calls)
    if writing.as_json:
        document = wings.parsed_document(message, text, analysis.template, why)
        outlet.json(wings.document_json(document))
        return message
    # The requested explanations come last.
    advice = _advice(analysis, message) if why is None else ""
    outlet.report(wings.message_report(message, text, outlet.width, advice))
    _write_explanations(why, text, outlet)
    return message


def _advice(analysis: wings.LearnedFormat, message: wings.ParsedMessage) -> str:
    """Return advice if a message was not read, or if the format has no calls."""
    if analysis.lacks_calls:
        source = wings.template_word(analysis.template, "TEMPLATE")
        return f"autoparser learn {source} --examples FILE (it renders no tool calls)"
    # An output without an end may be truncated, which the explanation tells apart.
    read = wings.all_read(message) and not message.missing_end
    read = read and not any(call.schema_errors for call in message.tool_calls)
    return "" if read else "--explain shows where the text differs from the template, and why"


def _write_explanations(why: wings.ExplainedOutput | None, text: str, outlet: Outlet) -> None:
    if why is None:
        return

    outlet.report(wings.explanation_report(why, text, outlet.width))


def _write_stream(
    parser: wings.OutputParser, writing: _Writing, outlet: Outlet, *, size: int, complete: bool
) -> wings.ParsedMessage:
    """Write the deltas of an output piece by piece, and return the message."""
    text, why = writing.text, writing.why
    stream = parser.stream()
    for start in range(0, len(text), size):
        chunk = text[start : start + size]
        deltas = stream.feed(chunk)
        if writing.as_json:
            outlet.json(wings.chunk_document(chunk, deltas), indent=None)
        else:
            outlet.report(wings.chunk_report(chunk, deltas, size))
    deltas = stream.finish(complete=complete)
    message = stream.message
    message = _with_lost_call(parser, message, text, seeks_calls=writing.seeks_calls)
    if writing.as_json:
        end = wings.end_document(deltas, message, text, writing.analysis.template, why)
        outlet.json(end, indent=None)
    else:
        outlet.report(wings.end_report(deltas, message, size))
        _write_explanations(why, text, outlet)
    return message
