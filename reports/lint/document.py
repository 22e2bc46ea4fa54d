"""A run as JSON; ``docs/lint.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.lint import HitEvidence, LintFinding, ShownText
from autoparser.analysis.lint.project import Inspected, LintRun, Problem

from .statistics import counted

__all__ = ["LINT_SCHEMA", "lint_document"]

LINT_SCHEMA = "autoparser.lint/1"
"""The document's version: it changes when a member goes away or means something else."""


def lint_document(run: LintRun) -> dict[str, object]:
    """Return a run as plain values; texts are whole and as they were."""
    return {
        "schema": LINT_SCHEMA,
        "fail_on": run.fail_on.value,
        "failed": run.failed,
        "rules": [rule.code for rule in run.rules],
        "templates": [_template(each, run) for each in run.templates],
        "problems": [_problem(each) for each in run.problems],
        "baseline": {"vanished": run.vanished} if run.baseline else None,
        "statistics": [
            {
                "code": each.rule.code,
                "name": each.rule.name,
                "findings": each.findings,
                "templates": each.templates,
                "merged": each.merged,
            }
            for each in counted(run)
        ],
    }


def _template(template: Inspected, run: LintRun) -> Mapping[str, object]:
    return {
        "path": template.path,
        "name": template.name,
        "findings": [_finding(template, each, run) for each in template.findings],
        "known": len(template.known),
        "ignored": len(template.ignored),
        "unused_ignores": [
            {"line": each.line, "selectors": [*each.selectors], "reason": each.reason}
            for each in template.unused
        ],
        "remarks": [*template.remarks],
        "left_out": [{"code": rule.code, "needs": need.value} for rule, need in template.left_out],
    }


def _finding(template: Inspected, finding: LintFinding, run: LintRun) -> Mapping[str, object]:
    return {
        "code": finding.code,
        "name": finding.rule.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "fails": run.fails(finding),
        "message": finding.message,
        "line": finding.line,
        "line_in_file": template.line_in_file(finding.line),
        "fix": finding.fix or None,
        "also": [*finding.also],
        "evidence": [_evidence(each) for each in finding.evidence],
    }


def _evidence(evidence: HitEvidence) -> Mapping[str, object]:
    return {
        "one": _shown(evidence.one),
        "other": None if evidence.other is None else _shown(evidence.other),
    }


def _shown(shown: ShownText) -> Mapping[str, object]:
    return {
        "label": shown.label,
        "text": shown.text,
        "error": shown.error or None,
        "messages": [*shown.messages],
    }


def _problem(problem: Problem) -> Mapping[str, object]:
    return {
        "path": problem.path,
        "line": problem.line,
        "place": problem.place or None,
        "message": problem.message,
        "hint": problem.hint or None,
    }
