"""``autoparser report``: everything about a template on one page."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from autoparser import __version__

from . import wings
from .options import (
    OutputOption,
    TokenizerOption,
    ToolsOption,
    format_option,
)
from .output import open_outlet, status_line
from .request import read_tools
from .source import LearnedSource, NamedSource


class ReportForm(StrEnum):
    """The forms of a report."""

    HTML = "html"


def report(
    *,
    form: Annotated[ReportForm, format_option("html", hidden=True)] = ReportForm.HTML,
    output: OutputOption = None,
    tools: ToolsOption = None,
    tokenizer: TokenizerOption = None,
    source: LearnedSource,
) -> int:
    """Write an HTML page about a chat template.

    Shows its format, the evidence, round trips and plots, in one self-contained file that can be
    sent, archived and printed. The grammar on it is for --tools, or else for two example tools.

    Exit code: 0 if it is written, 2 if there is nothing to write.
    """
    # There is one form so far.
    del form
    source.check()
    page = _template_page(source, tools, tokenizer)
    with open_outlet(output) as outlet:
        outlet.text(page)
    return 0


def _template_page(source: NamedSource, tools: Path | None, tokenizer: Path | None) -> str:
    offered = None if tools is None else [wings.tool_function(tool) for tool in read_tools(tools)]
    if source.saved:
        return _saved_page(source, offered, tokenizer)
    template = source.template(tokenizer)
    loaded = source.tokenizer(tokenizer, template, segmenting=True)
    place = source.source
    with status_line("analyzing") as show_step:
        analysis = wings.analyze(template)
        portrait = wings.portray_template(
            analysis,
            tools=offered,
            tokenizer=loaded,
            tokenizer_name="" if loaded is None else source.tokenizer_name(tokenizer),
            directory=Path(place) if place and Path(place).is_dir() else None,
            progress=show_step,
        )
        return wings.report_page(portrait, __version__)


def _saved_page(
    source: NamedSource, tools: Sequence[wings.Tool] | None, tokenizer: Path | None
) -> str:
    learned = source.saved_format()
    loaded = source.tokenizer(tokenizer, learned.template, segmenting=True)
    opaque = None if loaded is None else wings.tokenizer_of(loaded).opaque
    # Without any tool, the grammar on the page would have no calls to show.
    offered = tuple(wings.example_tools() if tools is None else tools)
    grammar = wings.written_grammar(learned, offered, opaque)
    return wings.saved_page(learned, grammar, offered, __version__)
