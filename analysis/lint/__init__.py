"""Rules that a chat template is held against, each by what its renders show."""

from .finding import LintFinding
from .hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
from .linting import LintReport, lint
from .need import Need
from .page import Page
from .registry import UnknownRuleError, all_rules, rule_of, rules_of
from .rule import Rule, RuleGroup
from .subject import Subject

__all__ = [
    "Confidence",
    "Hit",
    "HitCause",
    "HitEvidence",
    "LintFinding",
    "LintReport",
    "Need",
    "Page",
    "Rule",
    "RuleGroup",
    "Severity",
    "ShownText",
    "Subject",
    "UnknownRuleError",
    "all_rules",
    "lint",
    "rule_of",
    "rules_of",
]
