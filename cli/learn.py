"""``autoparser learn``: a format from outputs, for markup that the template does not render."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    JsonOption,
    OutputOption,
    TokenizerOption,
    ToolsOption,
    chosen_form,
    excludes,
    format_option,
    option_rules,
)
from .output import open_outlet, print_note, print_report, report_width
from .request import file_value, read_log, read_tools
from .source import NamedSource

ODD = 1
"""The exit code if an example or an output does not fit the learned format."""


class LearnedForm(StrEnum):
    """The forms of a learned format."""

    TEXT = "text"
    JSON = "json"
    FILE = "file"


@option_rules(excludes("--examples", "--outputs"))
def learn(
    *,
    examples: Annotated[
        Path | None,
        "FILE",
        "YAML or JSON list of {output: …, message: {content, reasoning, tool_calls}}.",
    ] = None,
    outputs: Annotated[
        Path | None,
        "FILE",
        "Log with one raw output per line, as text, a JSON string or {completion: …, prompt:"
        " …}. Needs --tools, or a response_template or response_schema beside the template.",
    ] = None,
    tools: ToolsOption = None,
    form: Annotated[
        LearnedForm | None,
        format_option(
            "json, as docs/json-schema.md describes it; file, the saved format that load_format"
            " reads. [default: text; file with --output]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    tokenizer: TokenizerOption = None,
    source: NamedSource,
) -> int:
    """Learn from outputs the parts of a format that no render shows.

    --examples are raw outputs with their messages. --outputs are raw outputs alone: calls are found
    by the names of --tools and the keys of their schemas. Prints the learned parts with their
    evidence, the guesses, and the outputs that do not fit; or writes the format to a file, and this
    report to standard error.

    The template's own format stays in use unless the learned one parses more; the report gives the
    reason. If the template renders calls itself, the parser and the grammars accept both.

    Exit code: 0 if the format in use parses everything, 1 if it does not, 2 if there is nothing to
    learn from.
    """
    if examples is None and outputs is None:
        raise AutoparserError(
            "nothing to learn from",
            hint="add --examples FILE, with outputs and their messages, or --outputs and --tools",
        )
    source.check()
    form = chosen_form(form, as_json, LearnedForm.JSON)
    to_file = form is LearnedForm.FILE or (form is None and output is not None)
    # The files are read before the template is analyzed, so that their errors come at once.
    read = (
        _from_examples(examples)
        if examples is not None
        else _from_outputs(outputs or Path(), tools, source.added_tokens(tokenizer))
    )
    learned = read(source.analysis(source.template(tokenizer)))
    _write_result(learned, output, to_file=to_file, as_json=form is LearnedForm.JSON)
    return 0 if learned.ok else ODD


class _LearnResult(NamedTuple):
    """The learned format, and whether it reads all examples."""

    learned_format: wings.TaughtFormat | wings.InferredFormat
    """The format, e.g. the `TaughtFormat` of `--examples one.yaml`."""
    ok: bool
    """Whether it reads all examples, e.g. False if one of them is spoiled."""


def _write_result(
    learned: _LearnResult, output: Path | None, *, to_file: bool, as_json: bool
) -> None:
    with open_outlet(output) as outlet:
        if to_file:
            outlet.text(wings.file_text(learned.learned_format.analysis.to_file()))
        elif as_json:
            outlet.json(wings.learned_document(learned.learned_format, ok=learned.ok))
        else:
            outlet.report(wings.learned_report(learned.learned_format, outlet.width))
    if to_file:
        print_report(wings.learned_report(learned.learned_format, report_width()), beside=True)


def _from_examples(path: Path) -> Callable[[wings.Analysis], _LearnResult]:
    given = wings.given_examples(file_value(path, "the examples"), str(path))

    def learn_given(analysis: wings.Analysis) -> _LearnResult:
        # Examples come from a person, so they are learned first and only then compared with the
        # files.
        found = wings.learn(analysis, given)
        _name_contradictions(analysis, given)
        return _LearnResult(found, found.ok)

    return learn_given


def _name_contradictions(analysis: wings.Analysis, examples: Sequence[wings.Example]) -> None:
    """Report examples that the model's own files read differently."""
    reader = _label_reader(analysis)
    odd = () if reader is None else reader.contradicted_examples(examples)
    if reader is not None and odd:
        words = f"its {reader.key} reads {len(odd)} of {len(examples)} examples differently"
        print_note(
            f"{reader.file}: {words}, the first {odd[0].place}: the examples take precedence"
        )


def _label_reader(analysis: wings.Analysis) -> wings.SuggestedReader | None:
    opening = analysis.formats.default.opening
    return wings.suggested_reader(analysis.template, "" if opening is None else opening.text)


def _from_outputs(
    path: Path, tools: Path | None, tokens: Sequence[str]
) -> Callable[[wings.Analysis], _LearnResult]:
    """Learn from unlabeled outputs, with the help of the tools or of the model's own files."""
    offered = None if tools is None else read_tools(tools)
    given = wings.given_outputs(read_log(path), str(path))

    def learn_logged(analysis: wings.Analysis) -> _LearnResult:
        if offered is None:
            return _from_suggestions(analysis, given, ())
        try:
            found = wings.learn_outputs(analysis, given, offered, tokens)
        except wings.OutputError:
            # Calls that the tools do not identify may be readable by the model's own files.
            if _label_reader(analysis) is None:
                raise
            return _from_suggestions(analysis, given, offered)
        return _LearnResult(found, found.ok)

    return learn_logged


def _from_suggestions(
    analysis: wings.Analysis, outputs: Sequence[wings.LoggedOutput], offered: Sequence[wings.Tool]
) -> _LearnResult:
    """Learn from outputs whose meaning the model's own files suggest; the outputs confirm it."""
    reader = _label_reader(analysis)
    if reader is None:
        raise AutoparserError(
            "--outputs needs the tools",
            hint="add --tools FILE, or a response_template to the tokenizer_config.json beside"
            " the template, which is read where transformers is installed, or a response_schema",
        )
    labeled = reader.label_outputs(outputs, offered)
    read = f"its {reader.key} reads {len(labeled)} of {len(outputs)} outputs"
    print_note(f"{reader.file}: {read}, and suggests their messages")
    # A parser labeled these messages, not a person, so the evidence counts as outputs.
    found = wings.learn(analysis, labeled, wings.EvidenceKind.OUTPUT)
    # Outputs without a suggested message were not among the examples.
    ok = found.ok and len(labeled) == len(outputs)
    return _LearnResult(found, ok)
