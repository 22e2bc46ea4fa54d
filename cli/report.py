"""``autoparser report``: everything about a template on one page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from autoparser import __version__

from .options import (
    EncoderOption,
    NameOption,
    OutputOption,
    RevisionOption,
    SourceArgument,
    TokenizerOption,
    ToolsOption,
    format_option,
)
from .output import doing, keep_source, result_to
from .request import read_tools
from .source import NamedSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoparser.analysis.core.conversation import Tool


class ReportForm(StrEnum):
    """What a report can be written as."""

    HTML = "html"


def report(
    source: SourceArgument = None,
    form: Annotated[ReportForm, format_option("html, a page of its own.")] = ReportForm.HTML,
    output: OutputOption = None,
    tools: ToolsOption = None,
    tokenizer: TokenizerOption = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
) -> int:
    """Write one HTML page on a template: its format, the evidence, round trips, plots.

    The page is one file that loads nothing and runs nothing; it can be sent, archived, printed.
    The grammar on it is that of --tools, else of two tools of our own.

    Exit code: 0 if it is written, 2 if there is nothing to write.
    """
    # There is one form so far.
    del form
    keep_source(source, output)
    page = _page(NamedSource(source, name, revision, encoder), tools, tokenizer)
    with result_to(output) as outlet:
        outlet.text(page)
    return 0


def _page(asked_for: NamedSource, tools: Path | None, tokenizer: Path | None) -> str:
    from autoparser.analysis.analysis import analyze as analyzed
    from autoparser.analysis.core.conversation import function_of
    from autoparser.analysis.overview.portrait import portray
    from autoparser.reports import report_page

    offered = None if tools is None else [function_of(tool) for tool in read_tools(tools)]
    if asked_for.saved:
        return _saved_page(asked_for, offered, tokenizer)
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
        return report_page(portrait, __version__)


def _saved_page(
    asked_for: NamedSource, tools: Sequence[Tool] | None, tokenizer: Path | None
) -> str:
    from autoparser.analysis.overview.portrait import example_tools, written_grammar
    from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
    from autoparser.reports import saved_page

    learnt = asked_for.saved_format()
    loaded = asked_for.tokenizer(tokenizer, learnt.template, segmenting=True)
    opaque = None if loaded is None else tokenizer_of(loaded).opaque
    offered = tuple(example_tools() if tools is None else tools)
    grammar = written_grammar(learnt, offered, opaque)
    return saved_page(learnt, grammar, offered, __version__)
