"""How often each rule fired."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.rule import Rule
from autoparser.reports.blocks import Blocks, Table, TableColumn, prose, sentence
from autoparser.reports.terminal import report_text

from .finding_words import notes, summary_words
from .styles import SEVERITY_STYLES

__all__ = ["Counted", "counted", "statistics_report"]


@dataclass(frozen=True, slots=True)
class Counted:
    """A rule, and what it found."""

    rule: Rule
    findings: int
    templates: int
    """Templates with at least one."""
    merged: int
    """Findings of other rules in which this rule saw the same cause."""


def counted(run: LintRun) -> list[Counted]:
    """Count for each rule that fired, the most frequent first, then by code."""
    findings: dict[str, int] = {}
    templates: dict[str, set[int]] = {}
    merged: dict[str, int] = {}
    for at, template in enumerate(run.templates):
        for finding in template.findings:
            findings[finding.code] = findings.get(finding.code, 0) + 1
            templates.setdefault(finding.code, set()).add(at)
            for code in finding.also:
                merged[code] = merged.get(code, 0) + 1
    rows = [
        Counted(
            rule,
            findings.get(rule.code, 0),
            len(templates.get(rule.code, ())),
            merged.get(rule.code, 0),
        )
        for rule in run.rules
        if rule.code in findings or rule.code in merged
    ]
    return sorted(rows, key=lambda row: (-row.templates, row.rule.code))


def statistics_report(run: LintRun, width: int) -> Text:
    """Return a table in lines of at most ``width`` cells, and the summary."""
    counts = tuple(
        (
            Text(str(each.findings)),
            Text(str(each.templates)),
            Text(str(each.merged or "")),
            sentence((each.rule.code, SEVERITY_STYLES[each.rule.severity]), f" {each.rule.name}"),
        )
        for each in counted(run)
    )
    drawn: Blocks = [Table(_COLUMNS, counts, head="bold")] if counts else []
    for words in (*notes(run), f"{summary_words(run)}."):
        drawn += prose(words, indent=0)
    return report_text(drawn, width)


_COLUMNS = (
    TableColumn("found", 5, right=True, gap=1),
    TableColumn("templates", 9, right=True, gap=1),
    TableColumn("merged", 6, right=True),
    TableColumn("rule"),
)
