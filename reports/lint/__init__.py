"""Findings in every form that people, CI and editors read.

Contract: each module takes a `LintRun` and gives a text; nothing is written here. What comes
from a template or a file name passes `visible` and then the escaping of the form. A report
is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_imports

if TYPE_CHECKING:
    from .ci_forms import github_report as github_report, junit_report as junit_report
    from .document import LintDocument as LintDocument, lint_document as lint_document
    from .markdown import (
        badge_image as badge_image,
        card_table as card_table,
        markdown_report as markdown_report,
    )
    from .page import (
        page_file as page_file,
        page_markdown as page_markdown,
        rule_page as rule_page,
        rule_table as rule_table,
        rules_index as rules_index,
    )
    from .sarif import sarif_report as sarif_report
    from .text import (
        concise_report as concise_report,
        counted as counted,
        lint_report as lint_report,
        statistics_report as statistics_report,
    )
    from .words import problem_words as problem_words
else:
    __getattr__, __dir__ = lazy_imports(__name__)
