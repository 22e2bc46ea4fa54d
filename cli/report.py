"""``autoparser report``: everything about a template on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from .inputs import read_tools
from .output import keep_source, print_text, write_file
from .progress import doing
from .source import Asked, EncoderOption, NameOption, RevisionOption, SourceArgument

if TYPE_CHECKING:
    from autoparser.analysis.conversation import Tool

__all__ = ["report"]


def report(
    source: SourceArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the page to a file, do not print it."
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The tools that the grammar is shown for, OpenAI's, as YAML or JSON; else two"
            " of our own.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A tokenizer.json or its directory; else the one beside the template.",
        ),
    ] = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
) -> int:
    """Write one HTML page on a template: its format, the evidence, round trips, plots.

    The page is one file that loads nothing and runs nothing; it can be sent, archived, printed.

    Exit code: 0 if it is written, 2 if there is nothing to write.
    """
    keep_source(source, output)
    page = _page(Asked(source, name, revision, encoder), tools, tokenizer)
    if output is None:
        print_text(page)
    else:
        write_file(output, page)
    return 0


def _page(asked_for: Asked, tools: Path | None, tokenizer: Path | None) -> str:
    from importlib.metadata import version

    from autoparser.analysis.analysis import analyze as analyzed
    from autoparser.analysis.portrait import portray
    from autoparser.reports.html import report_page

    offered = None if tools is None else _functions(read_tools(tools))
    template = asked_for.template(tokenizer)
    loaded = asked_for.tokenizer(tokenizer, template, segmenting=True)
    source = asked_for.source
    with doing("analyzing") as say:
        analysis = analyzed(template)
        portrait = portray(
            analysis,
            tools=offered,
            tokenizer=loaded,
            tokenizer_name="" if loaded is None else asked_for.tokenizer_name(tokenizer),
            directory=Path(source) if source and Path(source).is_dir() else None,
            progress=say,
        )
        return report_page(portrait, version("autoparser"))


def _functions(tools: Sequence[object]) -> list[Tool]:
    """Take the functions out of OpenAI's wrappers."""
    given = [cast("Tool", tool) for tool in tools]
    return [cast("Tool", tool.get("function", tool)) for tool in given]
