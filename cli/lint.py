"""``autoparser lint``: rules against the templates of a project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest
from autoparser.analysis.loading.isolation import Limits

from .fix import fixed_sources, write_fixed
from .lint_formats import Format, ReportDetail, reports_of, written
from .options import (
    ExitZeroOption,
    IgnoreOption,
    JobsOption,
    OutputOption,
    RevisionOption,
    SelectOption,
    SourcesArgument,
    TemplateOption,
    TokenizerOption,
    WatchOption,
    format_option,
)
from .output import keep_source, result_to, write_file
from .progress import progress_of
from .source import STANDARD_INPUT
from .watch import watching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoparser.analysis.lint import FindingFilter, Profile
    from autoparser.analysis.lint.other_jinjas import OtherJinja
    from autoparser.analysis.lint.project import (
        Baseline,
        LintRequest,
        LintRun,
        ProjectSettings,
        RuleChoice,
    )

__all__ = ["lint"]

FINDINGS = 1
"""The exit code where there is a finding to fail on."""

PROBLEMS = 2
"""The exit code where some input could not be looked at."""

MANY = 8
"""Fewer templates are done before a bar could be read."""


def lint(
    sources: SourcesArgument,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    extend_select: Annotated[
        list[str] | None, typer.Option(metavar="RULES", help="These rules, too.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The settings: a pyproject.toml with [tool.autoparser.lint], or an"
            " autoparser.toml. [default: the nearest from here upward]",
            show_default=False,
        ),
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no settings.")] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Findings in this file are known, and do not fail."),
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option("--write-baseline", help="Write all findings to the file of --baseline."),
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            help="Exit with 1 from this severity on: error, warning, info, or never."
            " [default: error]",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="Whose findings are shown and count: release, strict (all), engines, training or"
            " cache. [default: release; strict with --select]",
            show_default=False,
        ),
    ] = None,
    min_severity: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            help="Findings from here on: info, warning or error. [default: info]",
            show_default=False,
        ),
    ] = None,
    exit_zero: ExitZeroOption = False,
    min_confidence: Annotated[
        str, typer.Option(metavar="CONFIDENCE", help="Findings from here on: low, medium or high.")
    ] = "low",
    form: Annotated[
        Format,
        format_option(
            "text; concise, one line a finding; json, which docs/lint.schema.json describes; sarif,"
            " github, junit, markdown."
        ),
    ] = Format.TEXT,
    output: OutputOption = None,
    report: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT=FILE",
            help="Write this file, too, such as sarif=lint.sarif. May be given several times.",
        ),
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count by rule instead of showing each finding.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each rule's page below its first finding.")
    ] = False,
    show_evidence: Annotated[
        bool,
        typer.Option("--show-evidence", help="Show the renders by which each finding was seen."),
    ] = False,
    template_place: TemplateOption = None,
    tokenizer: TokenizerOption = None,
    engines: Annotated[
        bool,
        typer.Option(
            "--engines",
            help="Render whole conversations by other programs' Jinja, too: minijinja, llama.cpp's"
            " (xllamacpp) and @huggingface/jinja, where they are installed.",
        ),
    ] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The bin/python of an environment where --engines looks, too. May be given"
            " several times.",
        ),
    ] = None,
    revision: RevisionOption = None,
    jobs: JobsOption = None,
    watch: WatchOption = False,
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="AUTOPARSER_NO_CACHE",
            help="Look at every template anew, and leave nothing for the next run.",
        ),
    ] = False,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="AUTOPARSER_CACHE_DIR",
            help="Where what was found is cached for the next run. [default: where the system has"
            " caches]",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="First change the files as 'autoparser fix --write' does; see there."
        ),
    ] = False,
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
        baseline=baseline,
        isolated=isolated and config is not None,
    )
    for source in sources:
        keep_source(source, output)
    also = reports_of(report or [], output)
    if watch:
        _check_watch(sources, write=write_baseline or fix)
    if fix:
        fixed = fixed_sources(
            sources,
            select,
            ignore,
            template_place=template_place,
            revision=revision,
            jobs=jobs,
            limits=limits,
        )
        write_fixed(fixed)
    jinjas = _jinjas(python or [], wanted=engines)
    cache = None if no_cache else _cache(cache_dir)

    def once() -> int:
        settings = _settings(config, isolated=isolated)
        request = _request(
            sources,
            settings,
            (select, ignore, extend_select),
            fail_on=fail_on,
            min_confidence=min_confidence,
            shown=(profile, min_severity),
            template_place=template_place,
            tokenizer=tokenizer,
            baseline=None if write_baseline or baseline is None else _baseline(baseline),
            revision=revision,
            jobs=jobs,
            limits=limits,
            jinjas=jinjas,
            cache=cache,
        )
        run = _run(request)
        if write_baseline and baseline is not None:
            return _give_baseline(run, baseline)
        shown = ReportDetail(statistics=statistics, explain=explain, evidence=show_evidence)
        _give(run, form, output, shown)
        for other, file in also:
            write_file(file, written(run, other, shown))
        if run.problems:
            return PROBLEMS
        return FINDINGS if run.failed and not exit_zero else 0

    if not watch:
        return once()
    from autoparser.analysis.lint.project import places_of

    settings = _settings(config, isolated=isolated)
    beside = [*places_of(sources, settings), settings.file, baseline, tokenizer]
    return watching(", ".join(sources), once, beside=beside)


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
    form: Format,
    *,
    statistics: bool,
    explain: bool,
    write: bool,
    baseline: Path | None,
    isolated: bool,
) -> None:
    """Raise AutoparserError for options that contradict each other."""
    if write and baseline is None:
        raise AutoparserError(
            "--write-baseline does not say which file", hint="add --baseline FILE"
        )
    if isolated:
        raise AutoparserError("--config and --isolated contradict each other", hint="leave one out")
    if statistics and form not in (Format.TEXT, Format.JSON):
        raise AutoparserError(
            f"--statistics is not of {form}", hint="JSON has them in any case, text shows them"
        )
    if explain and form is not Format.TEXT:
        raise AutoparserError(
            "--explain and --show-evidence are of text",
            hint=f"{form} holds what it can; 'autoparser rule' shows a rule's page",
        )
    if explain and statistics:
        raise AutoparserError(
            "--statistics shows no finding to explain", hint="leave out one of the two"
        )


def _jinjas(pythons: list[str], *, wanted: bool) -> tuple[OtherJinja, ...]:
    """Return the programs to ask. Raises AutoparserError where there is none, or none is wanted."""
    if not wanted:
        if pythons:
            raise AutoparserError("--python is of --engines", hint="add --engines")
        return ()
    from autoparser.analysis.lint.other_jinjas import installed_jinjas

    found = installed_jinjas([sys.executable, *pythons])
    if not found:
        raise AutoparserError(
            f"there is no other Jinja in {', '.join([sys.executable, *pythons])} nor in node",
            hint="install minijinja (the extra 'engines') or xllamacpp, or npm's"
            " @huggingface/jinja; --python names another environment",
        )
    return found


def _cache(given: Path | None) -> Path:
    """Return the folder of the cache. Raises AutoparserError for one that there cannot be."""
    if given is None:
        from platformdirs import user_cache_path

        return user_cache_path("autoparser", appauthor=False) / "lint"
    try:
        given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AutoparserError(
            f"this cannot be the folder of the cache ({error.strerror or type(error).__name__})",
            file=str(given),
            hint="name another one with --cache-dir, or give --no-cache",
        ) from None
    return given


def _settings(config: Path | None, *, isolated: bool) -> ProjectSettings:
    # Imported here so that help does without the engine.
    from autoparser.analysis.lint.project import ProjectSettings, find_settings, read_settings

    if isolated:
        return ProjectSettings()
    return find_settings(Path.cwd()) if config is None else read_settings(config)


def _request(
    sources: Sequence[str],
    settings: ProjectSettings,
    chosen: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    *,
    fail_on: str | None,
    min_confidence: str,
    shown: tuple[str | None, str | None],
    template_place: str | None,
    tokenizer: Path | None,
    baseline: Baseline | None,
    revision: str | None,
    jobs: int | None,
    limits: Limits | None,
    jinjas: tuple[OtherJinja, ...],
    cache: Path | None,
) -> LintRequest:
    from autoparser.analysis.lint import Confidence, Need, all_rules, rules_for
    from autoparser.analysis.lint.project import FailOn, LintRequest, RuleChoice
    from autoparser.analysis.loading.isolation import usual_jobs
    from autoparser.analysis.loading.tokens import load_tokenizer

    select, ignore, extend = chosen
    selected = settings.select if select is None else _listed(select)
    profile = _profile(settings, shown[0], chosen=selected is not None)
    beside = [each.code for each in all_rules() if jinjas and each.needs is Need.OTHER_JINJAS]
    if selected is None:
        beside += [each.code for each in rules_for(profile)]
    choice = RuleChoice(
        selected,
        settings.ignore if ignore is None else _listed(ignore),
        (*settings.extend_select, *_listed(extend or []), *beside),
    )
    rules = choice.rules
    if not rules:
        raise AutoparserError("no rule is left to look", hint="select more, or ignore less")
    for given in (tokenizer, settings.tokenizer):
        if given is not None:
            # Read once here, so that it is an error of its own and not one of every template.
            load_tokenizer(given)
    usual = settings.fail_on or FailOn.ERROR
    return LintRequest(
        tuple(sources),
        rules,
        settings,
        usual if fail_on is None else FailOn(_one_of(fail_on, [*FailOn], "--fail-on")),
        Confidence(_one_of(min_confidence, [*Confidence], "--min-confidence")),
        _filter(settings, profile, shown[1], choice),
        tokenizer,
        baseline,
        revision,
        template_place,
        jobs or usual_jobs(),
        limits,
        jinjas,
        cache,
    )


def _profile(settings: ProjectSettings, given: str | None, *, chosen: bool) -> Profile:
    """Return whose findings are shown: whoever selects rules and names none wants all they find."""
    from autoparser.analysis.lint import Profile

    if given is not None:
        return Profile(_one_of(given, [*Profile], "--profile"))
    return settings.profile or (Profile.STRICT if chosen else Profile.RELEASE)


def _filter(
    settings: ProjectSettings, profile: Profile, severity: str | None, choice: RuleChoice
) -> FindingFilter:
    """Return what is shown."""
    from autoparser.analysis.lint import FindingFilter, Severity
    from autoparser.analysis.lint.project import codes_of

    return FindingFilter(
        profile,
        settings.min_severity or Severity.INFO
        if severity is None
        else Severity(_one_of(severity, [*Severity], "--min-severity")),
        codes_of(choice.extend_select),
    )


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for text in given for each in text.split(",") if each.strip())


def _one_of(given: str, known: Sequence[str], option: str) -> str:
    if given in known:
        return given
    hint = suggest(given, known, f"there are {', '.join(known)}")
    raise AutoparserError(f"{option} cannot be {given!r}", hint=hint)


def _baseline(file: Path) -> Baseline:
    from autoparser.analysis.lint.project import read_baseline

    return read_baseline(file)


def _run(request: LintRequest) -> LintRun:
    from contextlib import ExitStack

    from autoparser.analysis.lint.project import lint_project

    with ExitStack() as stack:
        return lint_project(
            request,
            lambda total: (
                stack.enter_context(progress_of(total, "linting"))
                if total >= MANY
                else lambda: None
            ),
        )


def _give_baseline(run: LintRun, file: Path) -> int:
    from autoparser.analysis.lint.project import baseline_of
    from autoparser.reports.lint import many

    found = baseline_of(run)
    write_file(file, found.text())
    counted = f"{many(len(found.entries), 'finding')} of {many(len(run.templates), 'template')}"
    typer.echo(f"{file}: {counted}", err=True)
    for problem in run.problems:
        line = AutoparserError(
            problem.message, file=problem.path, place=problem.place, hint=problem.hint
        )
        typer.echo(str(line), err=True)
    return PROBLEMS if run.problems else 0


def _give(run: LintRun, form: Format, output: Path | None, shown: ReportDetail) -> None:
    with result_to(output) as outlet:
        if form is Format.TEXT:
            outlet.report(shown.report(run, outlet.width))
        else:
            outlet.text(written(run, form, shown))
