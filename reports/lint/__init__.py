"""Findings in every form that people, CI and editors read.

Contract: each module takes a `LintRun` and gives a text; nothing is written here. What comes
from a template or a file name passes `visible` and then the escaping of the form.
"""

from .concise import concise_report
from .document import LintDocument, lint_document
from .finding_words import many, problem_words
from .github import github_report
from .junit import junit_report
from .markdown import markdown_report
from .page import rule_page, rule_table
from .page_markdown import page_file, page_markdown, rules_index
from .sarif import sarif_report
from .statistics import counted, statistics_report
from .text import lint_report

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
