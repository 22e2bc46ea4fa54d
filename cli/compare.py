"""``autoparser compare``: what changed between two templates in what they do."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    SOURCES,
    ExitZeroOption,
    NameOption,
    OutputOption,
    format_option,
)
from .output import Outlet, keep_source, result_to
from .progress import doing
from .source import Asked

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
        typer.Argument(metavar="A", help=SOURCES, show_default=False),
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
        format_option(
            "text; json, which docs/compare.schema.json describes; markdown for a comment on a pull"
            " request; html, a page of its own."
        ),
    ] = ComparisonForm.TEXT,
    output: OutputOption = None,
    name: NameOption = None,
    left_revision: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="A branch, tag or commit of A on the Hub."),
    ] = None,
    right_revision: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="A branch, tag or commit of B on the Hub."),
    ] = None,
    exit_zero: ExitZeroOption = False,
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
    with result_to(output) as outlet:
        _give(found, form, outlet)
    return 0 if found.equal or exit_zero else DIFFERS


def _give(found: Comparison, form: ComparisonForm, outlet: Outlet) -> None:
    from importlib.metadata import version

    from autoparser.reports import comparison_document, comparison_markdown, comparison_report
    from autoparser.reports.html import comparison_page

    match form:
        case ComparisonForm.TEXT:
            outlet.report(comparison_report(found, outlet.width))
        case ComparisonForm.JSON:
            outlet.json(comparison_document(found))
        case ComparisonForm.MARKDOWN:
            outlet.text(comparison_markdown(found))
        case ComparisonForm.HTML:
            outlet.text(comparison_page(found, version("autoparser")))
