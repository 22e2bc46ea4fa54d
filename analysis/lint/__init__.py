"""Rules that a chat template is held against, each by what its renders show."""

from .finding import Finding
from .hit import Cause, Confidence, Evidence, Hit, Severity, Shown
from .need import Need
from .page import Page
from .registry import UnknownRuleError, all_rules, rule_of, rules_of
from .rule import Group, Rule
from .run import Report, lint
from .subject import Subject

__all__ = [
    "Cause",
    "Confidence",
    "Evidence",
    "Finding",
    "Group",
    "Hit",
    "Need",
    "Page",
    "Report",
    "Rule",
    "Severity",
    "Shown",
    "Subject",
    "UnknownRuleError",
    "all_rules",
    "lint",
    "rule_of",
    "rules_of",
]
