"""``autoparser lint``: rules against the templates of a project."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import DISTRIBUTION, wings
from .fix import fix_files
from .lint_options import LintOptions
from .options import (
    ExitZeroOption,
    OutputOption,
    SourcesArgument,
    ToolsOption,
    UnsafeFixesOption,
    WatchOption,
    format_option,
    help_order,
    known_name,
)
from .output import PLAIN_WIDTH, open_outlet, progress_bar, protect_source, write_file
from .request import check_standard_input, read_functions
from .source import STANDARD_INPUT
from .watch import watch_files


class FindingForm(StrEnum):
    """The forms of findings."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    CARD = "card"
    BADGE = "badge"


@dataclass(frozen=True, slots=True)
class ReportDetail:
    """The amount of detail in a report for people."""

    statistics: bool = False
    explain: bool = False
    evidence: bool = False
    quiet: bool = False

    def report(self, run: wings.LintRun, width: int) -> wings.Text:
        """Return the report for a terminal of this width."""
        if self.statistics:
            return wings.statistics_report(run, width)
        return wings.lint_report(
            run, width, evidence=self.evidence, explain=self.explain, quiet=self.quiet
        )


def report_files(
    report_texts: Sequence[str], output: Path | None
) -> list[tuple[FindingForm, Path]]:
    """Read ``FORMAT=FILE`` texts. Raises AutoparserError for what is none, and for a file twice."""
    found: list[tuple[FindingForm, Path]] = []
    for each in report_texts:
        form, equals, file = each.partition("=")
        if not equals or not file:
            raise AutoparserError(
                f"{each!r} is not a report",
                hint="give --report FORMAT=FILE, as in sarif=lint.sarif",
            )
        known_name(form, [*FindingForm], f"there is no format {form!r}")
        path = Path(file)
        if path == output or any(path == other for _, other in found):
            raise AutoparserError("two reports go to this file", file=file, hint="name another")
        found.append((FindingForm(form), path))
    return found


def findings_text(run: wings.LintRun, form: FindingForm, detail: ReportDetail) -> str:
    """Return the text of a file in this form."""
    match form:
        case FindingForm.TEXT:
            return f"{detail.report(run, PLAIN_WIDTH).plain}\n"
        case FindingForm.CONCISE:
            return wings.concise_report(run, quiet=detail.quiet)
        case FindingForm.JSON:
            # ASCII alone: no reader and no terminal takes it for anything else.
            return json.dumps(wings.lint_document(run), indent=2, allow_nan=False) + "\n"
        case FindingForm.SARIF:
            return wings.sarif_report(run, __version__, _pages_address())
        case FindingForm.GITHUB:
            return wings.github_report(run)
        case FindingForm.JUNIT:
            return wings.junit_report(run)
        case FindingForm.MARKDOWN:
            return wings.markdown_report(run)
        case FindingForm.CARD:
            return wings.card_table(run, __version__)
        case FindingForm.BADGE:
            return wings.badge_image(run)


def _pages_address() -> str | None:
    """Return the address of the rules' pages, below the package's documentation, or None."""
    try:
        listed = wings.metadata(DISTRIBUTION).get_all("Project-URL") or []
    except wings.PackageNotFoundError:
        return None
    urls = dict(each.split(", ", 1) for each in listed if ", " in each)
    home = urls.get("Documentation")
    return None if home is None else f"{home.rstrip('/')}/rules"


FINDINGS = 1
"""The exit code where there is a finding to fail on."""

PROBLEMS = 2
"""The exit code where some input could not be looked at."""

MANY = 8
"""Fewer templates are done before a bar could be read."""


@help_order(
    "select ignore extend_select config isolated baseline write_baseline fail_on profile "
    "min_severity exit_zero min_confidence form output report quiet statistics explain "
    "show_evidence template_place tokenizer tools engines python revision jobs watch "
    "no_cache cache_dir"
)
def lint(
    *,
    sources: SourcesArgument,
    options: LintOptions,
    write_baseline: Annotated[bool, "Write all findings to the file of --baseline."] = False,
    fail_on: Annotated[
        str | None,
        "SEVERITY",
        "Exit with 1 from this severity on: error, warning, info, or never. [default: error]",
    ] = None,
    exit_zero: ExitZeroOption = False,
    form: Annotated[
        FindingForm,
        format_option(
            "text; concise, one line a finding; json, which docs/lint.schema.json describes; sarif,"
            " github, junit; markdown, a comment on a pull request; card, a table for a model card;"
            " badge, an SVG image."
        ),
    ] = FindingForm.TEXT,
    output: OutputOption = None,
    report: Annotated[
        list[str] | None,
        "FORMAT=FILE",
        "Write this file, too, such as sarif=lint.sarif. May be given several times.",
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Show findings and problems alone: no notes, no summary."
        ),
    ] = False,
    statistics: Annotated[bool, "Count by rule instead of showing each finding."] = False,
    explain: Annotated[bool, "Show each rule's page below its first finding."] = False,
    show_evidence: Annotated[bool, "Show the renders by which each finding was seen."] = False,
    tools: ToolsOption = None,
    engines: Annotated[
        bool,
        "Render whole conversations by other programs' Jinja, too: minijinja, llama.cpp's"
        " (xllamacpp) and @huggingface/jinja, where they are installed.",
    ] = False,
    python: Annotated[
        list[str] | None,
        "PATH",
        "The bin/python of an environment where --engines looks, too. May be given several times.",
    ] = None,
    watch: WatchOption = False,
    fix: Annotated[
        bool, "First change the files as 'autoparser fix --write' does; see there."
    ] = False,
    unsafe_fixes: UnsafeFixesOption = False,
    limits: Limits | None = None,
) -> int:
    """Find what makes templates lose calls, break the prefix cache or train wrong.

    Every rule renders conversations and looks at what comes out; none goes by a word of the
    source. Every named template of a source is looked at.

    Exit code: 0 if nothing is found to fail on, 1 if something is, 2 if an input cannot be
    looked at; the others are looked at all the same.
    """
    _check_use(
        form,
        statistics=statistics,
        explain=explain or show_evidence,
        write=write_baseline,
        options=options,
        unsafe=unsafe_fixes and not fix,
    )
    for source in sources:
        protect_source(source, output)
        check_standard_input(source, tools)
    also = report_files(report or [], output)
    if watch:
        _check_watch(sources, write=write_baseline or fix)
    jinjas = _find_jinjas(python or [], wanted=engines)
    offered = () if tools is None else read_functions(tools)
    cache = options.cache_folder()
    # What is written as known is all that is found.
    counted = replace(options, baseline=None) if write_baseline else options

    def lint_request() -> wings.LintRequest:
        return counted.request(
            sources,
            counted.settings(),
            cache,
            limits,
            fail_on=fail_on,
            jinjas=jinjas,
            tools=offered,
        )

    def lint_once() -> int:
        run = _run_lint(lint_request())
        if write_baseline and options.baseline is not None:
            return _write_baseline(run, options.baseline)
        detail = ReportDetail(statistics, explain, show_evidence, quiet)
        _write_findings(run, form, output, detail)
        for other, file in also:
            write_file(file, findings_text(run, other, detail))
        if run.problems:
            return PROBLEMS
        return FINDINGS if run.failed and not exit_zero else 0

    if fix:
        fix_files(lint_request(), unsafe=unsafe_fixes)
    if not watch:
        return lint_once()

    settings = options.settings()
    files = [settings.file, options.baseline, options.tokenizer, tools]
    beside = [*wings.places_of(sources, settings), *files]
    return watch_files(", ".join(sources), lint_once, beside=beside)


def _check_watch(sources: Sequence[str], *, write: bool) -> None:
    """Raise AutoparserError for what is not to be done again and again."""
    if STANDARD_INPUT in sources:
        raise AutoparserError("standard input cannot be watched", hint="name a file")
    if write:
        raise AutoparserError(
            "--watch would write files at each change",
            hint="leave out --watch, or --write-baseline and --fix",
        )


def _check_use(
    form: FindingForm,
    *,
    statistics: bool,
    explain: bool,
    write: bool,
    options: LintOptions,
    unsafe: bool,
) -> None:
    """Raise AutoparserError for options that contradict each other."""
    if unsafe:
        raise AutoparserError("--unsafe-fixes is of --fix", hint="add --fix")
    if write and options.baseline is None:
        raise AutoparserError(
            "--write-baseline does not say which file", hint="add --baseline FILE"
        )
    options.check()
    if statistics and form not in (FindingForm.TEXT, FindingForm.JSON):
        raise AutoparserError(
            f"--statistics is not of {form}", hint="JSON has them in any case, text shows them"
        )
    if explain and form is not FindingForm.TEXT:
        raise AutoparserError(
            "--explain and --show-evidence are of text",
            hint=f"{form} holds what it can; 'autoparser rule' shows a rule's page",
        )
    if explain and statistics:
        raise AutoparserError(
            "--statistics shows no finding to explain", hint="leave out one of the two"
        )


def _find_jinjas(pythons: list[str], *, wanted: bool) -> tuple[wings.OtherJinja, ...]:
    """Return the programs to ask. Raises AutoparserError where there is none, or none is wanted."""
    if not wanted:
        if pythons:
            raise AutoparserError("--python is of --engines", hint="add --engines")
        return ()
    found = wings.installed_jinjas([sys.executable, *pythons])
    if not found:
        raise AutoparserError(
            f"there is no other Jinja in {', '.join([sys.executable, *pythons])} nor in node",
            hint="install minijinja (the extra 'engines') or xllamacpp, or npm's"
            " @huggingface/jinja; --python names another environment",
        )
    return found


def _run_lint(request: wings.LintRequest) -> wings.LintRun:
    with ExitStack() as stack:
        return wings.lint_project(
            request,
            lambda total: (
                stack.enter_context(progress_bar(total, "linting"))
                if total >= MANY
                else lambda: None
            ),
        )


def _write_baseline(run: wings.LintRun, file: Path) -> int:
    found = wings.baseline_of(run)
    write_file(file, found.text())
    findings, templates = len(found.entries), len(run.templates)
    counted = f"{wings.number_of(findings, 'finding')} of {wings.number_of(templates, 'template')}"
    typer.echo(f"{file}: {counted}", err=True)
    for problem in run.problems:
        line = AutoparserError(
            problem.message, file=problem.path, place=problem.place, hint=problem.hint
        )
        typer.echo(str(line), err=True)
    return PROBLEMS if run.problems else 0


def _write_findings(
    run: wings.LintRun, form: FindingForm, output: Path | None, detail: ReportDetail
) -> None:
    with open_outlet(output) as outlet:
        if form is FindingForm.TEXT:
            outlet.report(detail.report(run, outlet.width))
        else:
            outlet.text(findings_text(run, form, detail))
