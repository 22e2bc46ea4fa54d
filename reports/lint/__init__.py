"""Findings in every form that people, CI and editors read.

Contract: each module takes a `LintRun` and gives a text; nothing is written here. What comes
from a template or a file name passes `visible` and then the escaping of the form. A report
is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

if TYPE_CHECKING:
    from .ci_forms import github_report, junit_report
    from .document import LintDocument, lint_document
    from .markdown import markdown_report
    from .page import page_file, page_markdown, rule_page, rule_table, rules_index
    from .sarif import sarif_report
    from .text import concise_report, counted, lint_report, statistics_report
    from .words import many, problem_words

__all__ = [
    "LintDocument",
    "concise_report",
    "counted",
    "github_report",
    "junit_report",
    "lint_document",
    "lint_report",
    "many",
    "markdown_report",
    "page_file",
    "page_markdown",
    "problem_words",
    "rule_page",
    "rule_table",
    "rules_index",
    "sarif_report",
    "statistics_report",
]

_HOMES = {
    "concise": ("concise_report",),
    "document": ("LintDocument", "lint_document"),
    "finding_words": ("many", "problem_words"),
    "github": ("github_report",),
    "junit": ("junit_report",),
    "markdown": ("markdown_report",),
    "page": ("page_file", "page_markdown", "rule_page", "rule_table", "rules_index"),
    "sarif": ("sarif_report",),
    "statistics": ("counted", "statistics_report"),
    "text": ("lint_report",),
}
"""Which module each name is in."""

if not TYPE_CHECKING:
    # Hidden from type checkers, to which every misspelt name would otherwise be there.
    __getattr__ = lazy_names(__name__, _HOMES)
