"""``autoparser fix``: what lint shows in templates, fixed by edits that renders prove."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .lint_options import LintOptions
from .options import (
    ResultOptions,
    SourcesArgument,
    UnsafeFixesOption,
    help_order,
)
from .output import open_outlet, print_note, print_report, protect_source, report_width, write_file

REMAINING = 1
"""The exit code where a finding stays, or would be fixed by changes that were not written."""

PROBLEMS = 2
"""The exit code where some input could not be looked at, or not to the end."""


@help_order(
    "select ignore extend_select config isolated baseline profile min_severity "
    "min_confidence unsafe_fixes write diff form as_json output"
)
def fix(
    *,
    sources: SourcesArgument,
    options: LintOptions,
    unsafe_fixes: UnsafeFixesOption = False,
    write: Annotated[bool, "Change the files; without it they stay as they are."] = False,
    diff: Annotated[bool, "Beside --write: show the unified diff, too."] = False,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Fix what lint shows: the smallest edits that renders prove to change nothing else.

    Standard output gets a unified diff that 'patch' takes, standard error what was fixed and what
    not, and why. An edit is made only where the finding goes by it, every conversation that was
    right is rendered to the same text, and no rule finds anything new. One that changes renders
    which no finding shown calls wrong is unsafe, and wants --unsafe-fixes.

    Exit code: 0 if nothing remains to fix, 1 if a finding stays or a change was not written, 2 if
    an input cannot be looked at, or not to the end, or written.
    """
    as_json = result.is_json
    options.check()
    for source in sources:
        protect_source(source, result.output)

    request = options.request(sources, options.settings(), options.cache_folder(), limits)
    run = wings.fix_sources(request, unsafe=unsafe_fixes)
    unwritten = write_fixes(run) if write else ()
    _write_result(
        run,
        unwritten,
        result.output,
        as_json=as_json,
        is_written=write,
        shows_diff=diff or not write,
    )
    if run.problems or unwritten:
        return PROBLEMS
    return REMAINING if run.remaining or (run.changed and not write) else 0


def fix_files(request: wings.LintRequest, *, unsafe: bool) -> None:
    """Change the files of templates in which something can be fixed, and name those that stay."""
    for each in write_fixes(wings.fix_sources(request, unsafe=unsafe)):
        print_note(f"{each.path}: {wings.problem_words(each)}")


def write_fixes(run: wings.FixRun) -> tuple[wings.InputProblem, ...]:
    """Write every changed template to its file, and return what a link kept from that.

    Raises AutoparserError where a template has no file of its own.
    """
    changed = [each for each in run.templates if each.fixed.changed]
    for each in changed:
        if not each.writable:
            raise AutoparserError(
                "--write changes files that hold a template alone",
                file=each.inspected.path,
                hint="take the diff, or the text of --json, and put it there",
            )
    problems: list[wings.InputProblem] = []
    for each in changed:
        path = each.inspected.path
        if each.inspected.linked_out:
            # Who names a folder means what is in it.
            words = "not changed: a link leads out of the folder that was named"
            problems.append(wings.InputProblem(path, words, "name the file itself"))
        else:
            write_file(Path(each.fixed.original.origin or path), each.fixed.template.text)
    return tuple(problems)


def _write_result(
    run: wings.FixRun,
    unwritten: tuple[wings.InputProblem, ...],
    output: Path | None,
    *,
    as_json: bool,
    is_written: bool,
    shows_diff: bool,
) -> None:
    with open_outlet(output) as outlet:
        if as_json:
            outlet.json(wings.fix_document(run, files_written=is_written, unwritten=unwritten))
            return
        if shows_diff:
            outlet.text(wings.fix_diff(run))
    report = wings.fix_report(run, report_width(), files_written=is_written, unwritten=unwritten)
    print_report(report, beside=True)
