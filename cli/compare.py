"""``autoparser compare``: what changed between two templates in what they do."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import PLAIN_WIDTH, keep_source, print_report, print_text, report_width, write_file
from .progress import doing
from .source import Asked, NameOption

if TYPE_CHECKING:
    from autoparser.analysis.comparison import Comparison

__all__ = ["ComparisonForm", "compare"]

DIFFERS = 1
"""The exit code where anything differs."""


class ComparisonForm(StrEnum):
    """What a comparison can be written as."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


def compare(
    left: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A template file, a model directory, a tokenizer_config.json, a GGUF file, or a"
            " model on the Hub such as org/name.",
            show_default=False,
        ),
    ],
    right: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="What it is compared with, such as the same file after a change.",
            show_default=False,
        ),
    ],
    form: Annotated[
        ComparisonForm,
        typer.Option(
            "--format",
            "-f",
            help="text; json, docs/compare.schema.json describes it; markdown for a comment on a"
            " pull request; html, a page of its own.",
        ),
    ] = ComparisonForm.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file, do not print."),
    ] = None,
    name: NameOption = None,
    left_revision: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="A branch, tag or commit of A on the Hub."),
    ] = None,
    right_revision: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="A branch, tag or commit of B on the Hub."),
    ] = None,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 also where they differ.")
    ] = False,
) -> int:
    """Compare what two templates do, not how they are written.

    Compared are the format of a turn, its markers and switches, the renders of a battery of
    conversations under every value of a switch and with every kind of content, and whether sampled
    turns come back in the next prompt. The report ends with what was asked and what was not.

    Exit code: 0 if nothing that was asked differs, 1 if anything does, 2 if there is nothing to
    compare.
    """
    for source in (left, right):
        keep_source(source, output)

    from autoparser.analysis.analysis import analyze
    from autoparser.analysis.comparison import compare as compared

    with doing("analyzing") as say:
        before = analyze(Asked(left, name, left_revision).template())
        after = analyze(Asked(right, name, right_revision).template())
        say("comparing")
        found = compared(before, after)
    _give(found, form, output)
    return 0 if found.equal or exit_zero else DIFFERS


def _give(found: Comparison, form: ComparisonForm, output: Path | None) -> None:
    from autoparser.reports import comparison_report

    if form is ComparisonForm.TEXT:
        if output is None:
            print_report(comparison_report(found, report_width()))
        else:
            write_file(output, f"{comparison_report(found, PLAIN_WIDTH).plain}\n")
        return
    text = _written(found, form)
    if output is None:
        print_text(text)
    else:
        write_file(output, text)


def _written(found: Comparison, form: ComparisonForm) -> str:
    from importlib.metadata import version

    from autoparser.reports import comparison_document, comparison_markdown, json_text
    from autoparser.reports.html import comparison_page

    if form is ComparisonForm.MARKDOWN:
        return comparison_markdown(found)
    if form is ComparisonForm.HTML:
        return comparison_page(found, version("autoparser"))
    return f"{json_text(comparison_document(found), indent=2)}\n"
