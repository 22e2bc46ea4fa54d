"""``autoparser analyze``: from a template to its format, its markers and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from autoparser.analysis.core.error_words import spelling_hint
from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    JsonOption,
    OutputOption,
    TokenizerOption,
    ToolsOption,
    chosen_form,
    complete_from,
    format_option,
    known_name,
    refuse_full,
)
from .output import Outlet, open_outlet, print_note
from .request import check_standard_input, read_functions
from .source import LearnedSource, NamedSource

FAILURES = 1
"""The exit code of an analysis that does not pass its self-check."""

PARSER = "parser"
"""The part of `--show` that is not a section of the report."""


class AnalysisForm(StrEnum):
    """The forms of an analysis."""

    TEXT = "text"
    JSON = "json"
    FILE = "file"


def analyze(
    *,
    source: LearnedSource,
    phase: Annotated[
        list[str] | None,
        "PHASE",
        complete_from("R1 R2 R3 C1 T1 T2 T3 T4 T5 T6 T7 A1 A2 A3".split),
        "Show only this phase, in full: its conversations and where their renders differ. Can"
        " be repeated.",
    ] = None,
    full: Annotated[
        bool,
        "Show everything: markers, every setting, a tool call in parts, what each phase found.",
    ] = False,
    diffs: Annotated[bool, "Like --full, followed by every phase in full."] = False,
    show: Annotated[
        str | None,
        "WHAT",
        complete_from(lambda: [*wings.SECTIONS, PARSER]),
        "Show only one section: summary, findings, markers, switches, settings, call,"
        " turn, stops, serve, phases, asked or faults; or parser, the grammar that reads a model's"
        " output.",
    ] = None,
    tokenizer: TokenizerOption = None,
    tools: ToolsOption = None,
    form: Annotated[
        AnalysisForm | None,
        format_option(
            "json, as docs/json-schema.md describes it; file, a saved format, which commands"
            " that render nothing take instead of the template. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> int:
    """Show how a chat template writes turns, reasoning and tool calls.

    Derives the format from renders, and shows one turn as the model writes it, the effect of each
    switch, the stops of turns and the findings on one screen. --full adds every marker, every
    setting and the renders that show them.

    The verdict says whether parsing works: whether fixed test messages, written in this format,
    match the template's renders (self-check), and whether grammar and parser take the turns that
    the template renders after its prompts. Then it says what matters for serving and training.

    With --tools, it also shows which parts of their schemas reach the prompt.

    Exit code: 0 if the self-check passes, 1 if it does not or the template crashes on what agents
    send or on one of --tools, 2 if there is nothing to analyze.
    """
    form = chosen_form(form, as_json, AnalysisForm.JSON) or AnalysisForm.TEXT
    as_text = form is AnalysisForm.TEXT
    _check_show(show, alone=as_text and not (phase or diffs or full))
    if full and not as_text:
        raise refuse_full(form)
    if form is AnalysisForm.JSON and (phase or diffs):
        raise AutoparserError(
            "JSON always has every phase in full", hint="leave out --phase and --diffs"
        )
    source.check()
    check_standard_input(source.source, tools)
    of_file = source.saved or form is AnalysisForm.FILE
    if tools is not None and (of_file or phase or show is not None):
        raise AutoparserError(
            "--tools shows which parts of the tool schemas reach the prompt, as text or JSON",
            hint="leave out --phase, --show and --format file, and pass the template itself",
        )
    # Read before the analysis, which takes seconds, so that a bad file is reported at once.
    offered = None if tools is None else read_functions(tools)
    if of_file and (phase or diffs):
        raise AutoparserError(
            "a saved format has no renders for --phase and --diffs to show",
            hint="leave them out, or report on the template itself",
        )
    # The report names the template's origin itself.
    analysis = source.learned_format(tokenizer, noted=False)
    wanted = _phase_names(analysis, phase or [])
    unwritten = () if of_file else _unwritten_tokens(source, analysis, tokenizer)
    found = None if offered is None else _tools_in_prompt(analysis, offered)
    with open_outlet(output) as outlet:
        if form is AnalysisForm.FILE:
            outlet.text(wings.file_text(analysis.to_file()))
        elif not as_text:
            document = analysis.to_dict()
            if not of_file:
                # Not in `to_dict`: they depend on the tokenizer, and an analysis only on the
                # template.
                document["unwritten_tokens"] = [*unwritten]
            if found is not None:
                document["tools_in_prompt"] = wings.document_json(found)
            outlet.json(document)
        else:
            extras = AnalysisExtras(unwritten, found)
            _write_report(analysis, wanted, outlet, extras, show=show, full=full, diffs=diffs)
    check = analysis.check
    # With the report in a file, the terminal would not show that a check failed.
    if output is not None and not analysis.ok:
        print_note(f"{source.label}: {wings.check_score(check)}, see {output}")
    return 0 if analysis.ok and not (found is not None and found.crashes) else FAILURES


def _tools_in_prompt(
    analysis: wings.Analysis | wings.SavedFormat, tools: Sequence[wings.Tool]
) -> wings.ToolsInPrompt | None:
    return None if isinstance(analysis, wings.SavedFormat) else analysis.tools_in_prompt(tools)


class AnalysisExtras(NamedTuple):
    """Report sections that need more than the analysis."""

    unwritten: Sequence[str]
    """Added tokens of the model's tokenizer that no render contains, e.g. `("</s>",)`."""
    tools: wings.ToolsInPrompt | None
    """The tools of `--tools` in the prompt, e.g. `get_weather` with its parameters."""


def _unwritten_tokens(
    source: NamedSource, analysis: wings.Analysis | wings.SavedFormat, tokenizer: Path | None
) -> tuple[str, ...]:
    """Return the added tokens of the model's tokenizer that no render contains."""
    # Tokens are hints of reasoning or calls that no turn shows; a whole format needs none.
    if isinstance(analysis, wings.SavedFormat) or not analysis.formats.lacks_parts:
        return ()
    return wings.unwritten_tokens(analysis, source.added_tokens(tokenizer))


def _check_show(show: str | None, *, alone: bool) -> None:
    if show is None:
        return

    known = [*wings.SECTIONS, PARSER]
    known_name(show, known, f"unknown section {show!r}")
    if not alone:
        raise AutoparserError(
            f"--show {show} shows only that section",
            hint="leave out JSON, --phase, --full and --diffs",
        )


def _phase_names(analysis: wings.Analysis | wings.SavedFormat, names: Sequence[str]) -> list[str]:
    """Return the names of the selected phases, in any case of letters. Raises AutoparserError."""
    known = [finding.phase for finding in analysis.phases]
    for name in names:
        if name.upper() not in known:
            hint = spelling_hint(name, known, f"choose from {', '.join(known)}")
            raise AutoparserError(f"unknown phase {name!r}", hint=hint)
    return [name.upper() for name in names]


def _write_report(
    analysis: wings.Analysis | wings.SavedFormat,
    phases: Sequence[str],
    outlet: Outlet,
    extras: AnalysisExtras,
    *,
    show: str | None,
    full: bool,
    diffs: bool,
) -> None:
    # Alone: `_check_show` has refused it beside the options below.
    if show is not None:
        shown = wings.grammar_report if show == PARSER else partial(wings.section_report, name=show)
        report = shown(analysis, width=outlet.width)
    elif not (full or diffs or phases):
        report = wings.screen_report(analysis, outlet.width, extras.unwritten, extras.tools)
    elif isinstance(analysis, wings.SavedFormat):
        report = wings.saved_report(analysis, outlet.width)
    elif phases:
        report = wings.phases_report(analysis, phases, outlet.width)
    else:
        report = wings.analysis_report(
            analysis, outlet.width, diffs=diffs, unwritten=extras.unwritten, tools=extras.tools
        )
    outlet.report(report)
