"""``autoparser learn``: a format from examples, where a template's renders do not show it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError

from .inputs import read_value
from .options import (
    EncoderOption,
    NameOption,
    OutputOption,
    RevisionOption,
    SourceArgument,
    TokenizerOption,
    format_option,
)
from .output import keep_source, print_report, report_width, result_to
from .source import NamedSource

__all__ = ["learn"]

ODD = 1
"""The exit code where an example is not read as what it means."""


class LearntForm(StrEnum):
    """What can be written."""

    TEXT = "text"
    FILE = "file"


def learn(
    source: SourceArgument = None,
    examples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML or JSON: a list of {output: …, message: {content, reasoning, tool_calls}}.",
        ),
    ] = None,
    form: Annotated[
        LearntForm | None,
        format_option("text, or file: the format, which load_format reads; with --output, file."),
    ] = None,
    output: OutputOption = None,
    tokenizer: TokenizerOption = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
) -> int:
    """Learn from examples how a model writes what its template never renders.

    An example is a raw output and the message that it means. Prints what is known from where, what
    no example shows, and which examples are not as the others; or writes the format to a file, and
    prints that on standard error.

    Exit code: 0 if every example is read as what it means, 1 if one is not, 2 if there is nothing
    to learn from.
    """
    if examples is None:
        raise AutoparserError(
            "there are no examples", hint="add --examples FILE, with outputs and what they mean"
        )
    asked_for = NamedSource(source, name, revision, encoder)
    keep_source(source, output)
    value = read_value(examples, "the examples")

    # Imported here so that help does without the engine.
    from autoparser.analysis.analysis import analyze as analyzed
    from autoparser.analysis.from_examples import learn as taught
    from autoparser.analysis.inference.examples import given_examples
    from autoparser.analysis.learnt import file_text
    from autoparser.reports import taught_report

    given = given_examples(value, str(examples))
    found = taught(analyzed(asked_for.template(tokenizer)), given)
    to_file = form is LearntForm.FILE or (form is None and output is not None)
    with result_to(output) as outlet:
        if to_file:
            outlet.text(file_text(found.analysis.to_file()))
        else:
            outlet.report(taught_report(found, outlet.width))
    if to_file:
        print_report(taught_report(found, report_width()), beside=True)
    return 0 if found.ok else ODD
