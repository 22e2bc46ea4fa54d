"""Findings as CI servers read them: annotations of GitHub Actions, and JUnit XML.

For example, a finding in line 4, column 7, with the message "100% lost: a, b" is the annotation

    ::error file=chat.jinja,line=4,col=7,title=AP301 name::100%25 lost: a, b
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.reports.places import FilePlace
from autoparser.reports.visible import visible

from .words import (
    line_place,
    message_words,
    notes,
    problem_place,
    problem_words,
    summary_words,
    template_title,
    unused_words,
)

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github_report(run: LintRun) -> str:
    """Return one annotation for each finding and problem, then the summary as plain text."""
    return "".join(f"{line}\n" for line in _finding_commands(run))


def _finding_commands(run: LintRun) -> Iterator[str]:
    for template in run.templates:
        for finding in template.findings:
            title = f"{finding.code} {finding.rule.name}"
            words = message_words(template, finding)
            if finding.fix:
                words += f"; {visible(finding.fix)}"
            # A template inside of JSON has no lines of the file.
            place = line_place(template, finding.line, finding.column)
            yield _command(_COMMANDS[finding.severity], template.path, place, title, words)
        yield from _unused_ignore_notices(template)
    for problem in run.problems:
        words = problem_words(problem)
        yield _command("error", problem.path, problem_place(problem), "autoparser lint", words)
    # With this prefix, no text at the beginning of a line can be read as a workflow command.
    for words in (*notes(run), summary_words(run)):
        yield f"autoparser lint: {words}"


def _unused_ignore_notices(template: InspectedTemplate) -> Iterator[str]:
    for ignore in template.unused:
        place = line_place(template, ignore.line)
        words = f"{template_title(template)}: {unused_words(ignore)}"
        yield _command("notice", template.path, place, "unused ignore", words)


def _command(command: str, path: str, place: FilePlace | None, title: str, words: str) -> str:
    at = {"line": "1"} if place is None else {"line": str(place.line), "col": str(place.column)}
    properties = {"file": path, **at, "title": title}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(words)}"


def _data(text: str) -> str:
    # `visible` leaves no line ends; these two escapes cost nothing and do not depend on that.
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # Either sign would end the value of a property.
    return _data(text).replace(":", "%3A").replace(",", "%2C")


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    """The name of the test, e.g. `AP306 content-dropped-beside-calls`."""
    kind: str
    """The element for a finding or a problem, e.g. `failure`; empty if the test passes."""
    type: str = ""
    """The severity of a finding, e.g. `error`; `problem` for a problem."""
    message: str = ""
    """The finding's message, e.g. `content beside a call is not in the prompt`."""
    text: str = ""
    """The message after its place, e.g. `chat.jinja:30: content beside a call is not in …`."""


def junit_report(run: LintRun) -> str:
    """Return an XML document. Every character in it is one that XML allows."""
    suites = [
        (template_title(template), template.path, _cases(template, run))
        for template in run.templates
    ]
    suites += [
        (
            visible(problem.path),
            problem.path,
            [_Case("readable", "error", "problem", problem_words(problem), _at(problem.line))],
        )
        for problem in run.problems
    ]
    root = Element("testsuites", name="autoparser lint")
    _count(root, [case for _, _, cases in suites for case in cases])
    for title, path, cases in suites:
        suite = SubElement(root, "testsuite", name=title)
        _count(suite, cases)
        for case in cases:
            _add(suite, path, case)
    indent(root)
    body: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _cases(template: InspectedTemplate, run: LintRun) -> list[_Case]:
    found = [_case(template, finding, fails=run.fails(finding)) for finding in template.findings]
    # CI servers list tests, so a template without findings needs one.
    return found or [_Case("no finding", "")]


def _case(template: InspectedTemplate, finding: LintFinding, *, fails: bool) -> _Case:
    fix = f"\nfix: {visible(finding.fix)}" if finding.fix else ""
    line = _at(template.line_in_file(finding.line))
    words = message_words(template, finding)
    return _Case(
        f"{finding.code} {finding.rule.name}",
        # JUnit has no warnings: a finding that does not fail the run goes to a passed test.
        "failure" if fails else "system-out",
        finding.severity.value,
        words,
        f"{visible(template.path)}{line}: {words}{fix}",
    )


def _at(line: int | None) -> str:
    return "" if line is None else f":{line}"


def _count(element: Element, cases: Sequence[_Case]) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(case.kind == "failure" for case in cases)))
    element.set("errors", str(sum(case.kind == "error" for case in cases)))


def _add(suite: Element, path: str, case: _Case) -> None:
    element = SubElement(suite, "testcase", name=case.name, classname=visible(path))
    if not case.kind:
        return
    inner = SubElement(element, case.kind)
    if case.kind != "system-out":
        inner.set("type", case.type)
        inner.set("message", case.message)
    inner.text = case.text or case.message
