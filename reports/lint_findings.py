"""Findings of lint by themselves, as a program holds them: code, weight, line, what happens."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import LintFinding

from .blocks import prose, rows, sentence
from .terminal import report_text
from .visible import visible

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def lint_findings_report(findings: Sequence[LintFinding], width: int) -> Text:
    """List findings, the weightiest first, as the linter gives them."""
    told = [(finding.code, _told(finding)) for finding in findings]
    drawn = rows(told, indent=0) if told else prose("no findings", indent=0)
    return report_text(drawn, width)


def _told(finding: LintFinding) -> Text:
    weight = finding.severity
    line = "" if finding.hit.line is None else f" in line {finding.hit.line}"
    return sentence((weight.value, _STYLES[weight]), f"{line}: {visible(finding.message)}")
