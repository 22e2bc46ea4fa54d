"""One line a finding, as editors and people with grep read it."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.inspection import LintRun
from autoparser.reports.places import FilePlace

from .finding_words import (
    line_place,
    message_words,
    notes,
    problem_words,
    summary_words,
    unused_words,
)

__all__ = ["concise_report"]


def concise_report(run: LintRun) -> str:
    """Return ``file:line:column: AP301 [error] message`` for each finding.

    Line 1 stands where none is known.
    """
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: LintRun) -> Iterator[str]:
    for template in run.templates:
        first = FilePlace(template.path, 1)
        for finding in template.findings:
            place = line_place(template, finding.line) or first
            words = message_words(template, finding)
            yield f"{place}: {finding.code} [{finding.severity}] {words}"
        for ignore in template.unused:
            place = line_place(template, ignore.line) or first
            yield f"{place}: [note] {unused_words(ignore)}"
    for problem in run.problems:
        place = FilePlace(problem.path, problem.line or 1)
        yield f"{place}: [problem] {problem_words(problem)}"
    yield from notes(run)
    yield summary_words(run)
