"""``autoparser export``: a format in the words of another program."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoparser.analysis.errors import AutoparserError

from .grammar import GrammarFormat, written
from .inputs import read_tools
from .output import keep_source, print_report, print_text, report_width, warn, write_file
from .source import Asked, EncoderOption, NameOption, RevisionOption, SourceArgument
from .switches import SwitchOption, read_switches, warn_of_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.export import Export, Trial
    from autoparser.analysis.format import TurnFormat

__all__ = ["export"]

FINDINGS = 1
"""The exit code where the target does not express all, or does not read what it should."""


class Target(StrEnum):
    """What can be written."""

    RESPONSE_TEMPLATE = "response-template"
    STRUCTURAL_TAG = "structural-tag"
    GBNF = "gbnf"


def export(
    source: SourceArgument = None,
    *,
    to: Annotated[
        Target,
        typer.Option(
            help="What to write: response-template, which transformers reads from a"
            " tokenizer_config.json; structural-tag and gbnf, the grammar of calls of --tools.",
            show_default=False,
        ),
    ],
    tools: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The tools, for structural-tag and gbnf: YAML or JSON."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file, do not print."),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Let the target's own parser read every message of the battery. Without either,"
            " that is done where it is installed.",
            show_default=False,
        ),
    ] = None,
    switch: SwitchOption = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
) -> int:
    """Write the format of a chat template for another program.

    Prints the document as JSON, and on standard error what the target cannot express, and how
    its own parser did.

    Exit code: 0 if the whole format is expressed, 1 if parts of it are not or messages come back
    otherwise, 2 if there is nothing to export.
    """
    asked_for = Asked(source, name, revision, encoder)
    keep_source(source, output)
    if to is Target.RESPONSE_TEMPLATE and tools is not None:
        raise AutoparserError("a response-template is of no tools", hint="leave out --tools")
    if to is not Target.RESPONSE_TEMPLATE and check is not None:
        raise AutoparserError(
            f"--check and --no-check are not of {to}", hint="see autoparser decode for a check"
        )
    offered = None if tools is None else read_tools(tools)
    switches = read_switches(switch or [])

    # Imported here so that help does without the engine.
    from autoparser.analysis.analysis import analyze as analyzed
    from autoparser.analysis.export import response_template
    from autoparser.reports import export_report, json_text

    analysis = analyzed(asked_for.template())
    warn_of_switches(asked_for.label, analysis.template, switches)
    format_ = analysis.under(switches).format if switches else analysis.formats.united
    if to is not Target.RESPONSE_TEMPLATE:
        form = GrammarFormat(to.value)
        text = written(analysis.grammar(offered, chat_template_kwargs=switches or None), form, None)
        return _give(text, asked_for.label, analysis, output)
    exported = response_template(format_)
    trial = None if check is False else _tried(format_, exported, asked=bool(check))
    text = json_text(exported.document, indent=2)
    if output is None:
        typer.echo(text)
    else:
        write_file(output, f"{text}\n")
    warnings = list(_warnings(analysis, text))
    for warning in warnings:
        warn(asked_for.label, warning)
    print_report(export_report(exported, trial, report_width()), beside=True)
    good = not warnings and exported.whole and (trial is None or trial.ok)
    return 0 if good else FINDINGS


def _warnings(analysis: Analysis, text: str) -> Iterator[str]:
    """Say what may make the document wrong."""
    from autoparser.reports import check_doubt

    verdict = analysis.check
    if not verdict.ok:
        yield check_doubt(verdict, "the document may be wrong")
    for token, stand_in in analysis.stand_ins.items():
        if stand_in in text:
            yield (
                f"the {token} is not known, and {stand_in} stands for it in the document;"
                " name the model's directory or its tokenizer_config.json"
            )


def _give(text: str, source: str, analysis: Analysis, output: Path | None) -> int:
    """Give a grammar, which is whole or an error, and say what may make it wrong."""
    if output is None:
        print_text(text if text.endswith("\n") else f"{text}\n")
    else:
        write_file(output, text if text.endswith("\n") else f"{text}\n")
    warnings = list(_warnings(analysis, text))
    for warning in warnings:
        warn(source, warning)
    return FINDINGS if warnings else 0


def _tried(format_: TurnFormat, exported: Export, *, asked: bool) -> Trial | None:
    """Try the export out; None where there is nothing to try it with, and nobody insists."""
    from autoparser.analysis.export import transformers_parser, try_out

    # It advises to install a framework, of which its parser has no need.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    parse = transformers_parser()
    if parse is not None:
        return try_out(format_, exported, parse)
    if not asked:
        return None
    raise AutoparserError(
        "there is no transformers whose parser could check the export",
        hint="install transformers 5.15 or later, or leave out --check",
    )
