"""``autoparser lint`` and ``fix``: rules against a project's templates, and proven edits.

For example, `--report sarif=lint.sarif` also writes the findings of the same run to a file:

    report_files(["sarif=lint.sarif"], None)  ->  [(FindingForm.SARIF, Path("lint.sarif"))]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import DISTRIBUTION, wings
from .command_runs import watch_files
from .options import (
    ExitZeroOption,
    JobsOption,
    JsonOption,
    OptionGroup,
    OutputOption,
    ResultOptions,
    RevisionOption,
    SourcesArgument,
    TemplateOption,
    TokenizerOption,
    ToolsOption,
    UnsafeFixesOption,
    WatchOption,
    chosen_form,
    complete_from,
    complete_rules,
    excludes,
    format_option,
    help_order,
    known_name,
    needs,
    option_rules,
)
from .output import (
    PLAIN_WIDTH,
    open_outlet,
    print_error,
    print_note,
    print_report,
    progress_bar,
    report_width,
    write_file,
)
from .request import check_standard_input, read_functions
from .source import STANDARD_INPUT

Choice = TypeVar("Choice", bound=StrEnum)


# Functions, not lambdas: inside a field's annotation a lambda cannot see this module's names.
def _profiles() -> Iterable[str]:
    return wings.Profile


def _severities() -> Iterable[str]:
    return wings.Severity


def _confidences() -> Iterable[str]:
    return wings.Confidence


class LintOptions(OptionGroup):
    """The options of lint and fix: reading of templates, selection of rules, and what counts."""

    select: Annotated[
        list[str] | None,
        "RULES",
        complete_rules,
        "Rules to run: codes, prefixes such as AP3, names or ALL, separated by commas.",
    ] = None
    ignore: Annotated[list[str] | None, "RULES", complete_rules, "Rules to skip."] = None
    extend_select: Annotated[list[str] | None, "RULES", complete_rules, "Further rules to run."] = (
        None
    )
    config: Annotated[
        Path | None,
        "FILE",
        "Settings: a pyproject.toml with [tool.autoparser.lint], or an autoparser.toml."
        " [default: the nearest from here upward]",
    ] = None
    isolated: Annotated[bool, "Ignore all settings files."] = False
    baseline: Annotated[Path | None, "FILE", "File of known findings, which are not reported."] = (
        None
    )
    profile: Annotated[
        str | None,
        "PROFILE",
        complete_from(_profiles),
        "Which findings are reported and affect the exit code: release, strict (all), engines,"
        " training or cache. [default: release; strict with --select]",
    ] = None
    min_severity: Annotated[
        str | None,
        "SEVERITY",
        complete_from(_severities),
        "Lowest severity to report: info, warning or error. [default: info]",
    ] = None
    min_confidence: Annotated[
        str,
        "CONFIDENCE",
        complete_from(_confidences),
        "Lowest confidence to report: low, medium or high.",
    ] = "low"
    template_place: TemplateOption = None
    tokenizer: TokenizerOption = None
    revision: RevisionOption = None
    jobs: JobsOption = None
    no_cache: Annotated[
        bool,
        typer.Option(
            "--no-cache",
            envvar="AUTOPARSER_NO_CACHE",
            help="Do not use the cache of results.",
        ),
    ] = False
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="AUTOPARSER_CACHE_DIR",
            help="Directory for cached results. [default: the system's cache directory]",
            show_default=False,
        ),
    ] = None

    def settings(self) -> wings.ProjectSettings:
        """Return the settings of the project, or empty ones."""
        if self.isolated:
            return wings.ProjectSettings()
        return (
            wings.find_settings(Path.cwd())
            if self.config is None
            else wings.read_settings(self.config)
        )

    def cache_folder(self) -> Path | None:
        """Return the folder of the cache, created if it was named. Raises AutoparserError."""
        if self.no_cache:
            return None
        # The usual folder is created with the first result; a named one at once, to report a bad
        # name.
        if self.cache_dir is None:
            return wings.user_cache_path("autoparser", appauthor=False) / "lint"
        try:
            self.cache_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AutoparserError(
                f"cannot create the cache directory ({reason})",
                file=str(self.cache_dir),
                hint="use another one with --cache-dir, or --no-cache",
            ) from None
        return self.cache_dir

    def request(
        self,
        sources: Sequence[str],
        settings: wings.ProjectSettings,
        cache: Path | None,
        limits: wings.Limits | None,
        *,
        fail_on: str | None = None,
        jinjas: tuple[wings.OtherJinja, ...] = (),
        tools: tuple[wings.Tool, ...] = (),
    ) -> wings.LintRequest:
        """Return the templates to check and the findings that count.

        Raises AutoparserError where options and settings contradict each other, or leave no rule.
        """
        selected = settings.select if self.select is None else _split_list(self.select)
        # A caller who selects rules without a profile wants all of their findings.
        usual = wings.Profile.RELEASE if selected is None else wings.Profile.STRICT
        profile = _chosen_value(self.profile, "--profile", settings.profile or usual)
        beside = [
            rule.code
            for rule in wings.all_rules()
            # Most environments have no other Jinja, so these rules run only with --engines.
            if jinjas and rule.needs is wings.RuleNeed.OTHER_JINJAS
        ]
        # Some rules are too slow for every run, so only the profile that needs them selects them.
        if selected is None:
            beside += [rule.code for rule in wings.rules_for(profile)]
        choice = wings.RuleChoice(
            selected,
            settings.ignore if self.ignore is None else _split_list(self.ignore),
            (*settings.extend_select, *_split_list(self.extend_select or []), *beside),
        )
        rules = choice.rules
        if not rules:
            raise AutoparserError("no rules selected", hint="select more rules, or ignore fewer")
        for given in (self.tokenizer, settings.tokenizer):
            if given is not None:
                # Read it once here, so that a bad tokenizer is one error, not one per template.
                wings.load_tokenizer(given)
        lowest = settings.min_severity or wings.Severity.INFO
        severity = _chosen_value(self.min_severity, "--min-severity", lowest)
        return wings.LintRequest(
            tuple(sources),
            rules,
            settings,
            _chosen_value(fail_on, "--fail-on", settings.fail_on or wings.FailOn.ERROR),
            _chosen_value(self.min_confidence, "--min-confidence", wings.Confidence.LOW),
            # A rule that was named explicitly is shown under every profile.
            wings.FindingFilter(profile, severity, wings.selected_codes(choice.extend_select)),
            self.tokenizer,
            None if self.baseline is None else wings.read_baseline(self.baseline),
            self.revision,
            self.template_place,
            self.jobs or wings.usual_jobs(),
            limits,
            jinjas,
            cache,
            tools,
        )


def _split_list(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())


def _chosen_value(value: str | None, option: str, usual: Choice) -> Choice:
    """Return the value that an option names, or the usual one if it is not given."""
    if value is None:
        return usual
    # The options are texts, since their enums would be imported for --help, too.
    kind = type(usual)
    return kind(known_name(value, [*kind], f"invalid {option}: {value!r}"))


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


class ReportDetail(OptionGroup):
    """The amount of detail in a report for people."""

    statistics: bool = False
    """Whether findings are only counted by rule, e.g. with `--statistics`."""
    explain: bool = False
    """Whether the first finding of each rule has the rule's page, e.g. with `--explain`."""
    evidence: bool = False
    """Whether each finding has its renders, e.g. with `--evidence`."""
    quiet: bool = False
    """Whether notes and the summary are left out, e.g. with `--quiet`."""

    def check(self, form: FindingForm) -> None:
        """Raise AutoparserError for details that contradict each other or the form."""
        if self.statistics and form not in (FindingForm.TEXT, FindingForm.JSON):
            hint = "use text, or json, which always includes them"
            raise excludes("--statistics", f"--format {form}", hint).error
        shown = self.explain or self.evidence
        if shown and form is not FindingForm.TEXT:
            raise AutoparserError(
                "--explain and --show-evidence work only with text",
                hint=f"remove them, or --format {form}; 'autoparser rule' shows a rule's page",
            )
        if shown and self.statistics:
            raise excludes("--statistics", "--explain or --show-evidence").error

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
    """Parse ``FORMAT=FILE`` texts. Raises AutoparserError for invalid texts and repeated files."""
    found: list[tuple[FindingForm, Path]] = []
    for text in report_texts:
        form, equals, file = text.partition("=")
        if not equals or not file:
            raise AutoparserError(
                f"invalid --report: {text!r}",
                hint="use --report FORMAT=FILE, e.g. sarif=lint.sarif",
            )
        known_name(form, [*FindingForm], f"unknown format {form!r}")
        path = Path(file)
        if path == output or any(path == other for _, other in found):
            raise AutoparserError("two reports go to this file", file=file, hint="name another")
        found.append((FindingForm(form), path))
    return found


def findings_text(run: wings.LintRun, form: FindingForm, detail: ReportDetail) -> str:
    """Return the text of a file in this form."""
    match form:
        case FindingForm.TEXT:
            # A file must not depend on the width of the terminal that happened to be open.
            return f"{detail.report(run, PLAIN_WIDTH).plain}\n"
        case FindingForm.CONCISE:
            return wings.concise_report(run, quiet=detail.quiet)
        case FindingForm.JSON:
            # JSON in ASCII, which every reader and terminal displays alike.
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
    # A checkout that is not installed has no metadata, so its reports have no links.
    except wings.PackageNotFoundError:
        return None
    urls = dict(url.split(", ", 1) for url in listed if ", " in url)
    home = urls.get("Documentation")
    return None if home is None else f"{home.rstrip('/')}/rules"


FINDINGS = 1
"""The exit code if a finding makes the run fail, or a fixable one remains."""

PROBLEMS = 2
"""The exit code if an input could not be checked, or only in part."""

MANY = 8
"""Fewer templates are done before a progress bar could be read."""

_SETTINGS_RULES = (excludes("--config", "--isolated"),)


@help_order(
    "select ignore extend_select config isolated baseline write_baseline fail_on profile "
    "min_severity exit_zero min_confidence form as_json output report quiet statistics explain "
    "show_evidence template_place tokenizer tools engines python revision jobs watch "
    "no_cache cache_dir"
)
@option_rules(
    needs("--unsafe-fixes", "--fix"),
    needs("--write-baseline", "--baseline", "FILE"),
    *_SETTINGS_RULES,
    excludes("--watch", "--write-baseline or --fix"),
    needs("--python", "--engines"),
)
def lint(
    *,
    sources: SourcesArgument,
    options: LintOptions,
    write_baseline: Annotated[bool, "Write all findings to the file of --baseline."] = False,
    fail_on: Annotated[
        str | None,
        "SEVERITY",
        complete_from(lambda: [*_severities(), "never"]),
        "Exit with 1 on a finding of at least this severity: error, warning, info or never."
        " [default: error]",
    ] = None,
    exit_zero: ExitZeroOption = False,
    form: Annotated[
        FindingForm | None,
        format_option(
            "concise has one line per finding; json is described in docs/lint.schema.json;"
            " sarif, github and junit are for CI, markdown for a comment on a pull request,"
            " card for a model card; badge is an SVG image. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    report: Annotated[
        list[str] | None,
        "FORMAT=FILE",
        "Also write this file, such as sarif=lint.sarif. Can be repeated.",
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Show only findings and problems: no notes, no summary."
        ),
    ] = False,
    statistics: Annotated[bool, "Count findings by rule instead of showing each."] = False,
    explain: Annotated[bool, "Show each rule's page below its first finding."] = False,
    show_evidence: Annotated[bool, "Show the renders behind each finding."] = False,
    tools: ToolsOption = None,
    engines: Annotated[
        bool,
        "Also render whole conversations with other installed implementations of Jinja:"
        " minijinja, llama.cpp's (xllamacpp) and @huggingface/jinja.",
    ] = False,
    python: Annotated[
        list[str] | None,
        "PATH",
        "The bin/python of another environment for --engines. Can be repeated.",
    ] = None,
    watch: WatchOption = False,
    fix: Annotated[bool, "First fix the files, as 'autoparser fix --write' does."] = False,
    unsafe_fixes: UnsafeFixesOption = False,
    limits: Limits | None = None,
) -> int:
    """Find bugs that lose tool calls, miss the cache or harm training.

    Every rule renders conversations and checks the results; none searches the source for words.
    Every named template of a source is checked.

    Exit code: 0 if no finding reaches --fail-on, 1 if one does, 2 if an input cannot be checked;
    the others are still checked.
    """
    form = chosen_form(form, as_json, FindingForm.JSON) or FindingForm.TEXT
    detail = ReportDetail(
        statistics=statistics, explain=explain, evidence=show_evidence, quiet=quiet
    )
    detail.check(form)
    for source in sources:
        check_standard_input(source, tools)
    # Before the run, which may take minutes: a wrong name must not lose its result.
    also = report_files(report or [], output)
    if watch and STANDARD_INPUT in sources:
        raise AutoparserError("standard input cannot be watched", hint="name a file")
    jinjas = _find_jinjas(python or []) if engines else ()
    offered = () if tools is None else read_functions(tools)
    cache = options.cache_folder()
    # A new baseline records all findings, including those in the old one.
    counted = options.with_values(baseline=None) if write_baseline else options

    # A function, because under --watch each run reads the settings and the baseline anew.
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
        with ExitStack() as stack:
            run = wings.lint_project(lint_request(), _bar_in(stack, "linting"))
        if write_baseline and options.baseline is not None:
            return _write_baseline(run, options.baseline)
        _write_findings(run, form, output, detail)
        for other, file in also:
            write_file(file, findings_text(run, other, detail))
        # An input that was not checked outweighs findings: 1 would mean that all were checked.
        if run.problems:
            return PROBLEMS
        return FINDINGS if run.failed and not exit_zero else 0

    if fix:
        # Fix before the run, which then reports the remaining findings.
        fix_files(lint_request(), unsafe=unsafe_fixes)
    if not watch:
        return lint_once()

    settings = options.settings()
    files = [settings.file, options.baseline, options.tokenizer, tools]
    beside = [*wings.watched_places(sources, settings), *files]
    # The joined names are for the note; the watched files are all in `beside`.
    return watch_files(", ".join(sources), lint_once, beside=beside)


def _find_jinjas(pythons: list[str]) -> tuple[wings.OtherJinja, ...]:
    """Find other Jinja implementations; raise AutoparserError if none is installed."""
    # Of two versions of one implementation, the first one counts, from this environment.
    found = wings.installed_jinjas([sys.executable, *pythons])
    if not found:
        raise AutoparserError(
            f"no other Jinja implementation in {', '.join([sys.executable, *pythons])} or in node",
            hint="install minijinja (the extra 'engines') or xllamacpp, or npm's"
            " @huggingface/jinja; --python names another environment",
        )
    return found


def _bar_in(stack: ExitStack, words: str) -> Callable[[int], Callable[[], object]]:
    """Return a function that ends a progress bar and begins another; few templates have no bar."""

    def start(total: int) -> Callable[[], object]:
        # rich allows one live display at a time.
        stack.close()
        return stack.enter_context(progress_bar(total, words)) if total >= MANY else lambda: None

    return start


def _fix_sources(request: wings.LintRequest, *, unsafe: bool) -> wings.FixRun:
    with ExitStack() as stack:
        linting, fixing = _bar_in(stack, "linting"), _bar_in(stack, "fixing")
        return wings.fix_sources(request, fixing, unsafe=unsafe, lint_progress=linting)


def _write_baseline(run: wings.LintRun, file: Path) -> int:
    found = wings.make_baseline(run)
    write_file(file, found.text())
    findings, templates = len(found.entries), len(run.templates)
    counted = (
        f"{wings.counted_noun(findings, 'finding')} of {wings.counted_noun(templates, 'template')}"
    )
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


@help_order(
    "select ignore extend_select config isolated baseline profile min_severity "
    "min_confidence unsafe_fixes write diff form as_json output"
)
@option_rules(*_SETTINGS_RULES)
def fix(
    *,
    sources: SourcesArgument,
    options: LintOptions,
    unsafe_fixes: UnsafeFixesOption = False,
    write: Annotated[bool, "Write the fixes to the files."] = False,
    diff: Annotated[bool, "With --write, also show the unified diff; -o implies it."] = False,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Fix what lint finds, with edits verified by rendering.

    Standard output is a unified diff for 'patch'; standard error lists the fixed findings and the
    remaining ones, with reasons. An edit is applied only if it removes the finding, all correct
    conversations render unchanged, and no rule reports a new finding. An edit that also changes
    renders without a reported finding is unsafe, and needs --unsafe-fixes.

    Exit code: 0 if nothing remains to fix, 1 if a finding remains or a change was not written, 2 if
    an input cannot be checked completely or a file cannot be written.
    """
    as_json = result.is_json
    request = options.request(sources, options.settings(), options.cache_folder(), limits)
    run = _fix_sources(request, unsafe=unsafe_fixes)
    unwritten = write_fixes(run) if write else ()
    if as_json:
        with open_outlet(result.output) as outlet:
            outlet.json(wings.fix_document(run, files_written=write, unwritten=unwritten))
    else:
        shows_diff = diff or not write or result.output is not None
        _write_diff(wings.fix_diff(run) if shows_diff else "", result.output)
        report = wings.fix_report(run, report_width(), files_written=write, unwritten=unwritten)
        print_report(report, beside=True)
    if run.problems or unwritten:
        return PROBLEMS
    # Without --write the files are as faulty as before, which a CI job has to notice.
    return FINDINGS if run.remaining or (run.changed and not write) else 0


def fix_files(request: wings.LintRequest, *, unsafe: bool) -> None:
    """Fix the files of templates; name the fixed rules of each, and files not written."""
    run = _fix_sources(request, unsafe=unsafe)
    unwritten = {problem.path: problem for problem in write_fixes(run)}
    for template in run.templates:
        path = template.inspected.path
        fixed = sorted({fix.finding.code for fix in template.fixed.fixes if fix.reason is None})
        if path in unwritten:
            print_error(f"{path}: {wings.problem_words(unwritten[path])}")
        elif fixed:
            print_note(f"{path}: fixed {', '.join(fixed)}")


def write_fixes(run: wings.FixRun) -> tuple[wings.InputProblem, ...]:
    """Write the changed templates to their files; return those not written, with reasons."""
    problems: list[wings.InputProblem] = []
    for template in run.templates:
        path = template.inspected.path
        if not template.fixed.changed:
            continue
        if not template.writable:
            words = "not changed: only a file that holds nothing but the template is written"
            hint = "apply the diff of 'autoparser fix', or its text with --json, by hand"
            problems.append(wings.InputProblem(path, words, hint))
            continue
        if template.inspected.linked_out:
            # Passing a folder means the files inside it.
            words = "not changed: a link leads out of the folder"
            problems.append(wings.InputProblem(path, words, "pass the file itself"))
            continue
        file = Path(template.fixed.original.origin or path)
        try:
            with wings.writing(file, "use a writable file"):
                text = template.fixed.template.text.encode("utf-8", "backslashreplace")
                # Do not overwrite a file that an editor has saved in the meantime.
                wings.write_whole(file, text, before=template.inspected.text)
        except AutoparserError as error:
            problems.append(wings.InputProblem(path, error.message, error.hint or ""))
    return tuple(problems)


def _write_diff(diff: str, output: Path | None) -> None:
    if diff or output is None:
        with open_outlet(output) as outlet:
            outlet.text(diff)
    else:
        print_note(f"{output} is not written: nothing was fixed, so there is no diff")
