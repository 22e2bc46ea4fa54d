"""The linter over the corpus, its counts beside those that were known before.

`lint_reference.yaml` holds, for each rule that corresponds to a probe of an earlier survey, how
many templates that probe hit, and why the rule hits more or fewer. That survey was of 793
templates, this corpus has 786, and its probes were prototypes: a count says how often a thing is,
not where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.linting import FindingFilter, LintFinding
from autoparser.analysis.lint.project_run import LintRequest, lint_project
from autoparser.analysis.lint.project_settings import ProjectSettings
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Profile, Rule, RuleNeed, profiles_of

from .corpus_templates import PROCESSES

REFERENCE = Path(__file__).parent / "lint_reference.yaml"


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier survey counted."""

    hits: int
    of: int
    """How many templates were asked: all, or those with calls or reasoning."""
    why: str = ""
    """Why the rule counts otherwise."""


def reference() -> Mapping[str, Known]:
    """Return what is known of rules, by code."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(REFERENCE.read_text(encoding="utf-8"))
    return {code: Known(**row) for code, row in rows.items()}


def lints(paths: Sequence[Path], processes: int = PROCESSES) -> LintRun:
    """Hold the templates against every rule, those too that do not run by default."""
    return lint_project(
        LintRequest(tuple(map(str, paths)), all_rules(), ProjectSettings(), jobs=processes)
    )


def lint_table(run: LintRun) -> str:
    """Lay the counts out as text."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: LintRun) -> Iterator[str]:
    known = reference()
    hits = {rule.code: _hits(run, rule) for rule in run.rules}
    yield f"{'hits':>5} {'before':>9}  rule"
    for rule in run.rules:
        row = known.get(rule.code)
        before = "" if row is None else f"{row.hits}/{row.of}"
        lacking = rule.needs in (RuleNeed.TOKENIZER, RuleNeed.DIRECTORY)
        lacks = f" (needs {rule.needs.value})" if lacking else ""
        yield f"{hits[rule.code]:>5} {before:>9}  {rule.code} {rule.name}{lacks}"
        if row is not None and row.why:
            yield f"{'':>17}{row.why}"
    found = sum(len(each.findings) for each in run.templates)
    yield (
        f"{len(run.templates)} templates, {len(run.rules)} rules, {found} findings,"
        f" {len(run.problems)} problems"
    )
    for problem in run.problems:
        yield f"  {problem.path}: {problem.message}"


def _hits(run: LintRun, rule: Rule) -> int:
    """Count the templates in which the rule saw something, alone or merged into another."""
    return sum(
        any(rule.code in (finding.code, *finding.also) for finding in template.findings)
        for template in run.templates
    )


PROFILES = (Profile.RELEASE, Profile.ENGINES, Profile.TRAINING, Profile.CACHE, Profile.STRICT)


def lint_counts(run: LintRun) -> str:
    """Count templates: by rule and weight, by profile, and those that have nothing to show."""
    return "\n".join(_count_lines(run)) + "\n"


def _count_lines(run: LintRun) -> Iterator[str]:
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
