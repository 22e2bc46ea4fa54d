"""JUnit XML, the form of test results that CI servers such as GitLab and Jenkins show.

There is no official schema; this is the form that Ant writes and Jenkins' schema describes:
``testsuites``, a ``testsuite`` for each template, a ``testcase`` for each finding. A finding to
fail on is a ``failure``, a problem an ``error``, and what is only told is in ``system-out``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.reports.visible import visible

from .finding_words import message_words, problem_words, template_title

__all__ = ["junit_report"]


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    kind: str
    """The element in which it says what is wrong; empty where nothing is."""
    type: str = ""
    message: str = ""
    text: str = ""


def junit_report(run: LintRun) -> str:
    """Return an XML document. Every character in it is one that XML allows."""
    suites = [(template_title(each), each.path, _cases(each, run)) for each in run.templates]
    suites += [
        (
            visible(each.path),
            each.path,
            [_Case("readable", "error", "problem", problem_words(each), _at(each.line))],
        )
        for each in run.problems
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
    found = [_case(template, each, fails=run.fails(each)) for each in template.findings]
    return found or [_Case("no finding", "")]


def _case(template: InspectedTemplate, finding: LintFinding, *, fails: bool) -> _Case:
    fix = f"\nfix: {visible(finding.fix)}" if finding.fix else ""
    line = _at(template.line_in_file(finding.line))
    words = message_words(template, finding)
    return _Case(
        f"{finding.code} {finding.rule.name}",
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
