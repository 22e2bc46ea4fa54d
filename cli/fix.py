"""``autoparser fix``: templates with findings of lint fixed, by edits that renders prove."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.isolation import Limits

from .options import (
    IgnoreOption,
    JobsOption,
    JsonOption,
    OutputOption,
    RevisionOption,
    SelectOption,
    SourcesArgument,
    TemplateOption,
    TextOrJsonOption,
    is_json,
)
from .output import keep_source, print_report, report_width, result_to, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoparser.analysis.fixing import FixRun

__all__ = ["fix", "fixed_sources", "write_fixed"]

CHANGED = 1
"""The exit code where a template would change, or was changed."""

PROBLEMS = 2
"""The exit code where some input could not be looked at."""


def fix(
    sources: SourcesArgument,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Change the files; without it they stay as they are.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Beside --write: show the unified diff, too.")
    ] = False,
    form: TextOrJsonOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    template_place: TemplateOption = None,
    revision: RevisionOption = None,
    jobs: JobsOption = None,
    limits: Limits | None = None,
) -> int:
    """Fix findings of lint: the smallest edits that renders prove to change nothing else.

    Standard output gets a unified diff that 'patch' takes, standard error what was fixed and what
    not. An edit is made only where the finding goes by it, every conversation that was right is
    rendered to the same text, and no rule finds anything new.

    Exit code: 0 if nothing can be fixed, 1 if a template would change or was changed, 2 if an
    input cannot be looked at or written.
    """
    as_json = is_json(form, as_json)
    for source in sources:
        keep_source(source, output)
    run = fixed_sources(
        sources,
        select,
        ignore,
        template_place=template_place,
        revision=revision,
        jobs=jobs,
        limits=limits,
    )
    if write:
        write_fixed(run)
    _give(run, output, as_json=as_json, written=write, shows_diff=diff or not write)
    if run.problems:
        return PROBLEMS
    return CHANGED if run.changed else 0


def fixed_sources(
    sources: Sequence[str],
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    *,
    template_place: str | None,
    revision: str | None,
    jobs: int | None,
    limits: Limits | None,
) -> FixRun:
    """Fix the templates of sources, in memory. Raises AutoparserError for rules that none are."""
    # Imported here so that help does without the engine.
    from autoparser.analysis.fixing import FixRequest, fix_sources
    from autoparser.analysis.lint.project import RuleChoice, find_settings
    from autoparser.analysis.loading.isolation import usual_jobs

    settings = find_settings(Path.cwd())
    rules = RuleChoice(
        settings.select if select is None else _listed(select),
        settings.ignore if ignore is None else _listed(ignore),
        settings.extend_select if select is None else (),
    ).rules
    codes = tuple(rule.code for rule in rules if rule.fixable)
    if not codes:
        raise AutoparserError(
            "no rule is left whose findings can be fixed",
            hint="'autoparser rule' says of each rule whether they can",
        )
    request = FixRequest(
        tuple(sources), codes, settings, revision, jobs or usual_jobs(), limits, template_place
    )
    return fix_sources(request)


def write_fixed(run: FixRun) -> None:
    """Write every changed template to its file. Raises AutoparserError where it has none."""
    changed = [each for each in run.templates if each.fixed.changed]
    for each in changed:
        if not each.writable:
            raise AutoparserError(
                "--write changes files that hold a template alone",
                file=each.path,
                hint="take the diff, or the text of --json, and put it there",
            )
    for each in changed:
        write_file(Path(each.path), each.fixed.template.text)


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for text in given for each in text.split(",") if each.strip())


def _give(
    run: FixRun, output: Path | None, *, as_json: bool, written: bool, shows_diff: bool
) -> None:
    from autoparser.reports import fix_diff, fix_document, fix_report

    with result_to(output) as outlet:
        if as_json:
            outlet.json(fix_document(run, written=written))
            return
        if shows_diff:
            outlet.text(fix_diff(run))
    print_report(fix_report(run, report_width(), written=written), beside=True)
