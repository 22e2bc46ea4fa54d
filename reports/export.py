"""Exports: the parts of a format that are not expressed, and a trial with transformers' parser.

For example, the report of an export without limits is

    The whole format is expressed.
    transformers' own parser returns 47 of 47 messages: 13 with content, 39 with calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.export.export_limits import Export
from autoparser.analysis.export.response_template import ExportMismatch, ExportTrial

from .blocks import Blocks, Row, heading, prose, rows
from .terminal import report_text
from .visible import marker_text, visible

PROMPT_SHOWN = 60
"""Characters of a prompt's end that are shown."""


def export_report(export: Export, trial: ExportTrial | None, width: int) -> Text:
    """Show the limits of an export, and the result of its trial, if it was tried."""
    drawn: Blocks = [*_limits(export), *_trial(export, trial)]
    return report_text(drawn, width)


def _limits(export: Export) -> Blocks:
    if export.whole:
        found = prose(Text("The whole format is expressed.", style="green"), indent=0)
    else:
        words = "Parts of the format are not expressed:"
        found = prose(Text(words, style="yellow"), indent=0)
        pairs = [(limit.piece.value, Text(visible(limit.reason))) for limit in export.limits]
        found += rows(pairs)
    if export.needs_tools:
        words = "Arguments are typed by the tools' schemas: without tools, they are strings."
        found += prose(words, indent=0)
    if export.plain_names:
        words = "Argument names are read only if they are plain words."
        found += prose(words, indent=0)
    return found


def _trial(export: Export, trial: ExportTrial | None) -> Blocks:
    if trial is None:
        # transformers is no requirement of this package.
        return prose(Text("Not checked with transformers' own parser.", style="dim"), 0)
    words = f"transformers' own parser returns {trial.passed} of {trial.total} messages"
    kinds = ", ".join(f"{number} with {kind}" for kind, number in trial.kinds.items())
    words += f": {kinds}." if kinds else "."
    found = prose(Text(words, style="green" if trial.ok else "red"), 0)
    if trial.left_out:
        # Without limits, only the names of arguments can keep a message from being expressed.
        skipped = "argument names that are not plain words"
        if not export.whole:
            names = " or argument names" if export.plain_names else ""
            skipped = f"parts{names} that are not expressed"
        found += prose(f"{trial.left_out} more were skipped: they have {skipped}.", 0)
    if trial.foretold:
        words = f"{trial.foretold} of them follow no prompt that the template renders."
        found += prose(words, 0)
    # One limit of the form fails many messages alike, so one of each kind is shown.
    by_kind: dict[str, list[ExportMismatch]] = {}
    for mismatch in trial.mismatches:
        by_kind.setdefault(mismatch.kind, []).append(mismatch)
    for kind, alike in by_kind.items():
        found += heading(f"Wrong result, {kind}: {len(alike)}, e.g. {alike[0].title}")
        found += rows(list(_mismatch(alike[0])), words=False)
    return found


def _mismatch(mismatch: ExportMismatch) -> Iterator[Row]:
    # Only the end of a prompt can hold a part of the turn, such as the opening of reasoning.
    yield "prompt", Text(f"…{marker_text(mismatch.prefix[-PROMPT_SHOWN:])}")
    yield "text", Text(marker_text(mismatch.text))
    yield "expected", Text(visible(str(mismatch.expected)))
    if mismatch.read_message is not None:
        yield "found", Text(visible(str(mismatch.read_message)))
    if mismatch.error:
        yield "but", Text(visible(mismatch.error))
