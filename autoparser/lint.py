"""Lint: the rules and their findings.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.lint.hit import Confidence as Confidence, Severity as Severity
    from autoparser.analysis.lint.linting import (
        LintFinding as LintFinding,
        LintReport as LintReport,
        lint as lint,
    )
    from autoparser.analysis.lint.registry import all_rules as all_rules, rules_of as rules_of
    from autoparser.analysis.lint.rule import Rule as Rule
    from autoparser.analysis.lint.subject import Subject as Subject
else:
    __getattr__, __dir__ = lazy_imports(__name__)
