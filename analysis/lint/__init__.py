"""Rules that a chat template is held against, each by what its renders show.

Each name is imported from its module when it is first asked for: a list of the rules does without
the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

if TYPE_CHECKING:
    from .hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
    from .lint_finding import LintFinding
    from .linting import LintReport, lint
    from .profile import FindingFilter, Profile, profiles_of, rules_for
    from .registry import UnknownRuleError, all_rules, rule_of, rules_of, run_check
    from .rule import TRAINED, Concern, FaultKind, MendedFault, Need, Rule, RuleGroup, fault_words
    from .subject import Subject

__all__ = [
    "TRAINED",
    "Concern",
    "Confidence",
    "FaultKind",
    "FindingFilter",
    "Hit",
    "HitCause",
    "HitEvidence",
    "LintFinding",
    "LintReport",
    "MendedFault",
    "Need",
    "Profile",
    "Rule",
    "RuleGroup",
    "Severity",
    "ShownText",
    "Subject",
    "UnknownRuleError",
    "all_rules",
    "fault_words",
    "lint",
    "profiles_of",
    "rule_of",
    "rules_for",
    "rules_of",
    "run_check",
]

_HOMES = {
    "hit": ("Confidence", "Hit", "HitCause", "HitEvidence", "Severity", "ShownText"),
    "lint_finding": ("LintFinding",),
    "linting": ("LintReport", "lint"),
    "profile": ("FindingFilter", "Profile", "profiles_of", "rules_for"),
    "registry": ("UnknownRuleError", "all_rules", "rule_of", "rules_of", "run_check"),
    "rule": (
        "TRAINED",
        "Concern",
        "FaultKind",
        "MendedFault",
        "Need",
        "Rule",
        "RuleGroup",
        "fault_words",
    ),
    "subject": ("Subject",),
}
"""Which module each name is in."""

if not TYPE_CHECKING:
    # Hidden from type checkers, to which every misspelt name would otherwise be there.
    __getattr__ = lazy_names(__name__, _HOMES)
