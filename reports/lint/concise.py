"""One line a finding, as editors and people with grep read it."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.project import LintRun
from autoparser.reports.visible import visible

from .finding_words import message_words, notes, problem_words, summary_words, unused_words

__all__ = ["concise_report"]


def concise_report(run: LintRun) -> str:
    """Return ``file:line: AP301 [error] message`` for each finding; line 1 where none is known."""
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: LintRun) -> Iterator[str]:
    for template in run.templates:
        path = visible(template.path)
        for finding in template.findings:
            line = template.line_in_file(finding.line) or 1
            words = message_words(template, finding)
            yield f"{path}:{line}: {finding.code} [{finding.severity}] {words}"
        for ignore in template.unused:
            line = template.line_in_file(ignore.line) or 1
            yield f"{path}:{line}: [note] {unused_words(ignore)}"
    for problem in run.problems:
        line = problem.line or 1
        yield f"{visible(problem.path)}:{line}: [problem] {problem_words(problem)}"
    yield from notes(run)
    yield summary_words(run)
