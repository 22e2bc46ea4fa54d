"""How often each rule fires, and in which profile what it finds is shown, as a Markdown table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.linting import FindingFilter, LintFinding
from autoparser.analysis.lint.rule import Profile, Rule, profiles_of

PROFILES = (Profile.RELEASE, Profile.ENGINES, Profile.TRAINING, Profile.CACHE, Profile.STRICT)


def lint_counts(run: LintRun) -> str:
    """Count templates: by rule and weight, by profile, and those that have nothing to show."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: LintRun) -> Iterator[str]:
    names = " | ".join(each.value for each in PROFILES)
    yield f"| rule | errors | warnings | info | {names} |"
    yield f"|---|{'--:|' * (3 + len(PROFILES))}"
    for rule in run.rules:
        counts = [_templates(run, rule, severity) for severity in Severity]
        if any(counts):
            shown = [_shown(run, rule, profile) for profile in PROFILES]
            cells = " | ".join(str(each or "") for each in (*counts, *shown))
            yield f"| {rule.code} {rule.name} | {cells} |"
    every = [_shown(run, None, profile) for profile in PROFILES]
    weights = [_templates(run, None, severity) for severity in Severity]
    yield f"| any | {' | '.join(map(str, (*weights, *every)))} |"
    found = [each for _, each in run.findings]
    yield ""
    yield (
        f"{len(run.templates)} templates, {len(found)} findings, {len(run.problems)} problems;"
        f" {sum(each.line is None for each in found)} findings have no line,"
        f" {sum(bool(each.hit.setting) for each in found)} hold under a switch alone."
    )


def _templates(run: LintRun, rule: Rule | None, severity: Severity) -> int:
    """Count the templates in which a rule, or any, has a finding of a weight."""
    return _having(run, rule, lambda each: each.severity is severity)


def _shown(run: LintRun, rule: Rule | None, profile: Profile) -> int:
    """Count the templates of which a profile shows a finding of a rule that runs in it."""

    def shows(finding: LintFinding) -> bool:
        runs = finding.rule.default or profile in profiles_of(finding.rule)
        return runs and FindingFilter(profile).shows(finding)

    return _having(run, rule, shows)


def _having(run: LintRun, rule: Rule | None, wanted: Callable[[LintFinding], bool]) -> int:
    return sum(
        any((rule is None or each.rule is rule) and wanted(each) for each in template.findings)
        for template in run.templates
    )
