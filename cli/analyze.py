"""``autoparser analyze``: from a template to its format, its markers and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest

from .options import (
    EncoderOption,
    JsonOption,
    NameOption,
    OutputOption,
    RevisionOption,
    SourceArgument,
    TextOrJsonOption,
    TokenizerOption,
    is_json,
)
from .output import Outlet, keep_source, result_to, say
from .source import NamedSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoparser.analysis.analysis import Analysis

__all__ = ["analyze"]

FAILURES = 1
"""The exit code of an analysis that does not pass its self-check."""

SHOWN = "parser"
"""What can be shown alone."""


def analyze(
    source: SourceArgument = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
    phase: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PHASE",
            help="Show only this phase, in full: its conversations, and where their renders"
            " differ. May be given several times.",
        ),
    ] = None,
    diffs: Annotated[
        bool, typer.Option("--diffs", help="Show every phase in full, after the report.")
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Show only this: parser, the grammar by which a model's output is read.",
        ),
    ] = None,
    tokenizer: TokenizerOption = None,
    form: TextOrJsonOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> int:
    """Find the format of a chat template by rendering it.

    Reports how the model reasons, how content and tool calls are written, every marker, the
    switches, and which renders say so. The analysis is checked: it must write a fixed battery
    of messages exactly as the template renders them.

    Exit code: 0 if it does, 1 if some messages come out differently or the template crashes on
    what agents send, 2 if there is nothing to analyze.
    """
    as_json = is_json(form, as_json)
    _check_show(show, alone=not (as_json or phase or diffs))
    if as_json and (phase or diffs):
        raise AutoparserError(
            "JSON holds every phase in full already", hint="leave out --phase and --diffs"
        )
    asked_for = NamedSource(source, name, revision, encoder)
    keep_source(source, output)

    # Imported here so that help does without the engine.
    from autoparser.analysis.analysis import analyze as analyzed

    analysis = analyzed(asked_for.template(tokenizer, noted=False))
    wanted = _phases(analysis, phase or [])
    with result_to(output) as outlet:
        if as_json:
            outlet.json(analysis.to_dict())
        else:
            _give_report(analysis, wanted, outlet, diffs=diffs, grammar=show is not None)
    check = analysis.check
    if output is not None and not analysis.ok:
        from autoparser.reports import check_score

        say(f"{asked_for.label}: {check_score(check)}, see {output}")
    return 0 if analysis.ok else FAILURES


def _check_show(show: str | None, *, alone: bool) -> None:
    if show is None:
        return
    if show != SHOWN:
        raise AutoparserError(f"there is no {show!r} to show", hint=f"give --show {SHOWN}")
    if not alone:
        raise AutoparserError(
            f"--show {SHOWN} shows nothing else", hint="leave out JSON, --phase and --diffs"
        )


def _phases(analysis: Analysis, asked: Sequence[str]) -> list[str]:
    """Return the phases that are meant, in any case of letters. Raises AutoparserError."""
    known = [finding.phase for finding in analysis.phases]
    for name in asked:
        if name.upper() not in known:
            hint = suggest(name, known, f"the phases are {', '.join(known)}")
            raise AutoparserError(f"there is no phase {name!r}", hint=hint)
    return [name.upper() for name in asked]


def _give_report(
    analysis: Analysis, phases: Sequence[str], outlet: Outlet, *, diffs: bool, grammar: bool
) -> None:
    from autoparser.reports import analysis_report, grammar_report, phases_report

    if grammar:
        report = grammar_report(analysis, outlet.width)
    elif phases:
        report = phases_report(analysis, phases, outlet.width)
    else:
        report = analysis_report(analysis, outlet.width, diffs=diffs)
    outlet.report(report)
