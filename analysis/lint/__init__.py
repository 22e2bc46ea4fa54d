"""Rules that a chat template is held against, each by what its renders show."""

from .hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
from .lint_finding import LintFinding
from .linting import LintReport, lint
from .need import Need
from .page import Page
from .profile import FindingFilter, Profile, profiles_of, rules_for
from .registry import UnknownRuleError, all_rules, rule_of, rules_of
from .rule import TRAINED, Concern, FaultKind, MendedFault, Rule, RuleGroup, fault_words
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
    "Page",
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
]
