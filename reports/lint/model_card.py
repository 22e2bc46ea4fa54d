"""A run of the linter for a model card: a badge, and a table with a row a template.

Both say what was looked at and by which version, so that a reader can ask again. What a template
says stays in its cell, as in `markdown`.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.reports.visible import number_of

from .markdown import code_cell, table_row
from .words import counts, template_title

LABEL = "chat template"
_COLORS = {"": "#2c7a3f", "info": "#2c7a3f", "warning": "#8a6100", "error": "#b3261e"}
"""Of the right half, by the weightiest finding; white on each has a contrast above 4.5."""
_CELL, _MARGIN = 7, 6
"""Pixels of a character of the font, and at each end of a half."""


def badge_image(run: LintRun) -> str:
    """Return an SVG badge that says how many findings of which weight there are."""
    weightiest = next((each.value for each in Severity if run.count(each)), "")
    words = counts(run) or "no finding"
    if run.problems:
        weightiest, words = "error", "cannot be looked at"
    left, right = (len(text) * _CELL + 2 * _MARGIN for text in (LABEL, words))
    title = escape(f"{LABEL}: {words}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="{_COLORS[weightiest]}"/>'
        f'<path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif"'
        f' font-size="11"><text x="{left / 2:g}" y="14">{LABEL}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(words)}</text></g></svg>\n'
    )


def card_table(run: LintRun, version: str) -> str:
    """Return a Markdown table: of each template the findings by weight, and the rules behind them.

    A last line names the profile and the version.
    """
    rows = [table_row("template", *(each.value for each in Severity), "rules")]
    rows += [table_row(*["---"] * (len(Severity) + 2))]
    rows += [_row(template) for template in run.templates]
    rows += [table_row(code_cell(each.path), "cannot be looked at") for each in run.problems]
    looked = number_of(len(run.rules), "rule")
    return (
        "".join(rows) + f"\nautoparser {version}, profile {run.finding_filter.profile}, {looked}.\n"
    )


def _row(template: InspectedTemplate) -> str:
    weights = Counter(finding.severity for finding in template.findings)
    rules = dict.fromkeys(f"{each.code} {each.rule.name}" for each in template.findings)
    numbers = (str(weights[each]) for each in Severity)
    return table_row(code_cell(template_title(template)), *numbers, ", ".join(rules) or "none")
