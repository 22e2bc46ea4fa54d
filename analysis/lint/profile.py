"""Which findings are shown to whom; the others are folded into one line.

Every rule looks whatever the profile is, since findings of one cause are merged first: what is
shown does not depend on what is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from .hit import Severity
from .registry import all_rules
from .rule import Concern, Rule

if TYPE_CHECKING:
    from .lint_finding import LintFinding

_WEIGHTS = [*Severity]


class Profile(StrEnum):
    """For whom a template is looked at."""

    RELEASE = "release"
    """Its author, before it ships: errors, and warnings that are not of a convention."""
    STRICT = "strict"
    """Whoever wants everything."""
    ENGINES = "engines"
    TRAINING = "training"
    CACHE = "cache"

    def shows(self, rule: Rule, severity: Severity) -> bool:
        """Whether a finding of a rule is shown in this profile, if it has this severity."""
        if self is Profile.STRICT:
            return True
        if self is Profile.RELEASE:
            usual = rule.convention and severity is not Severity.ERROR
            return not usual and severity is not Severity.INFO
        return Concern(self.value) in rule.concerns


def profiles_of(rule: Rule) -> tuple[Profile, ...]:
    """Return the profiles that show what a rule finds where it weighs as usual."""
    if not rule.default:
        return tuple(each for each in Profile if each.value == rule.runs_for)
    return tuple(each for each in Profile if each.shows(rule, rule.severity))


def rules_for(profile: Profile) -> tuple[Rule, ...]:
    """Return the rules that run in a profile beside those that always do."""
    return tuple(rule for rule in all_rules() if profile.value == rule.runs_for)


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings are shown."""

    profile: Profile = Profile.STRICT
    min_severity: Severity = Severity.INFO
    always: frozenset[str] = frozenset()
    """Codes of rules that somebody asked for, which are shown in every profile."""

    def shows(self, finding: LintFinding) -> bool:
        """Whether a finding is shown; one that is not does not count either."""
        if _WEIGHTS.index(finding.severity) > _WEIGHTS.index(self.min_severity):
            return False
        return finding.code in self.always or self.profile.shows(finding.rule, finding.severity)


SHOWING_ALL = FindingFilter()
