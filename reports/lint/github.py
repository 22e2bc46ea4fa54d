"""Annotations of GitHub Actions: workflow commands that its log shows at the line.

The form and its escapes are those of the toolkit's ``core/src/command.ts``: data escapes ``%``
and line ends, properties also ``:`` and ``,``. Whatever a template says stays within its line.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.reports.visible import visible

from .finding_words import (
    message_words,
    notes,
    problem_words,
    summary_words,
    template_title,
    unused_words,
)

__all__ = ["github_report"]

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_report(run: LintRun) -> str:
    """Return one annotation for each finding and problem, then the summary as plain text."""
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: LintRun) -> Iterator[str]:
    for template in run.templates:
        for finding in template.findings:
            title = f"{finding.code} {finding.rule.name}"
            words = message_words(template, finding)
            if finding.fix:
                words += f"; {visible(finding.fix)}"
            line = template.line_in_file(finding.line)
            yield _command(_COMMANDS[finding.severity], template.path, line, title, words)
        yield from _unused(template)
    for problem in run.problems:
        words = problem_words(problem)
        yield _command("error", problem.path, problem.line, "autoparser lint", words)
    # A line of words cannot begin like a command.
    for words in (*notes(run), summary_words(run)):
        yield f"autoparser lint: {words}"


def _unused(template: InspectedTemplate) -> Iterator[str]:
    for ignore in template.unused:
        line = template.line_in_file(ignore.line)
        words = f"{template_title(template)}: {unused_words(ignore)}"
        yield _command("notice", template.path, line, "unused ignore", words)


def _command(command: str, path: str, line: int | None, title: str, words: str) -> str:
    properties = {"file": path, "line": str(line or 1), "title": title}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(words)}"


def _data(text: str) -> str:
    # The escapes of line ends are for what `visible` leaves none of; they cost nothing.
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
