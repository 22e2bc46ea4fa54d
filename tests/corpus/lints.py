"""Lint the corpus, compare lint with the analysis, and count what `autoparser fix` fixes.

Every rule runs, also those that are off by default; templates are counted by rule, severity and
profile. A finding counts as fixed if the edited template passes every render of the proof and no
render changes without a finding. For the others, the table shows how far the edits came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from autoparser import Analysis, AutoparserError
from autoparser.analysis.editing.lint_fixes import UnfixedReason, fix_sources
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.linting import FindingFilter, lint
from autoparser.analysis.lint.project_run import LintRequest, lint_project
from autoparser.analysis.lint.project_settings import ProjectSettings, RuleChoice
from autoparser.analysis.lint.registry import all_rules, rules_for
from autoparser.analysis.lint.rule import Profile, rule_profiles
from autoparser.analysis.lint.subject import Subject

from .corpus_templates import Board, analysis_at, read_template

PROFILES = (Profile.RELEASE, Profile.ENGINES, Profile.TRAINING, Profile.CACHE, Profile.STRICT)


@dataclass(frozen=True, slots=True)
class LintedTemplate:
    run: LintRun
    """Every finding."""
    shown: Mapping[Profile, frozenset[str]]
    """The codes that each profile shows, of rules that run in it."""


def linted(path: Path) -> LintedTemplate:
    """Lint a template under each profile, which chooses before findings are merged."""
    with TemporaryDirectory() as cache:  # the rules run once
        request = LintRequest((str(path),), all_rules(), ProjectSettings(), cache=Path(cache))
        runs = {
            profile: lint_project(replace(request, finding_filter=FindingFilter(profile)))
            for profile in PROFILES
        }
    return LintedTemplate(
        runs[Profile.STRICT],
        {
            profile: frozenset(
                finding.code
                for _, finding in run.findings
                if finding.rule.default or profile in rule_profiles(finding.rule)
            )
            for profile, run in runs.items()
        },
    )


def _lint_lines(templates: Sequence[LintedTemplate]) -> Iterator[str]:
    found = [[finding for _, finding in template.run.findings] for template in templates]
    wanted: list[list[frozenset[str]]] = [
        *(
            [
                frozenset(finding.code for finding in every if finding.severity is severity)
                for every in found
            ]
            for severity in Severity
        ),
        *([template.shown[profile] for template in templates] for profile in PROFILES),
    ]
    counts = {
        rule.code: [sum(rule.code in codes for codes in column) for column in wanted]
        for rule in all_rules()
    }
    shown = " | ".join(profile.value for profile in PROFILES)
    yield f"| rule | errors | warnings | info | {shown} |"
    yield f"|---|{'--:|' * len(wanted)}"
    for rule in all_rules():
        if any(counts[rule.code]):
            cells = " | ".join(str(count or "") for count in counts[rule.code])
            yield f"| {rule.code} {rule.name} | {cells} |"
    usual = {rule.code for rule in all_rules() if rule.default}
    any_of = [sum(bool(codes & usual) for codes in column) for column in wanted]
    yield f"| any | {' | '.join(map(str, any_of))} |"
    every = [finding for findings in found for finding in findings]
    yield ""
    yield (
        f"{len(templates)} templates, {len(every)} findings,"
        f" {sum(len(template.run.problems) for template in templates)} problems;"
        f" {sum(row.line is None for row in every)} findings have no line,"
        f" {sum(bool(row.hit.setting) for row in every)} hold under a switch alone."
    )


LINTS = Board(linted, _lint_lines, lambda template: not template.run.problems)


# Lint beside the analysis.


@dataclass(frozen=True, slots=True)
class JudgedTwice:
    template: str
    failure: str
    """Why the analysis fails it; empty where it passes."""
    errors: tuple[str, ...]
    """The rules that find an error."""

    @property
    def agrees(self) -> bool:
        """Whether lint is at least as red as the analysis."""
        return bool(self.errors) or not self.failure


def judged_twice(path: Path) -> JudgedTwice:
    """Lint a template, and analyze it."""
    template = read_template(path)
    analysis: Analysis | None = None
    try:
        analysis = analysis_at(path)
        failure = "" if analysis.ok else "the analysis fails"
    except AutoparserError as error:
        failure = error.message
    found = lint(Subject(template, analysis=analysis)).findings
    errors = (row.code for row in found if row.severity is Severity.ERROR)
    return JudgedTwice(path.stem, failure, tuple(dict.fromkeys(errors)))


def _agreement_lines(found: Sequence[JudgedTwice]) -> Iterator[str]:
    failed = [row for row in found if row.failure]
    green = [row for row in failed if not row.agrees]
    yield (
        f"{len(found)} templates, the analysis fails {len(failed)};"
        f" {len(green)} of these have no error in lint"
    )
    yield from (f"{row.template}: {row.failure}" for row in green)


AGREEMENT = Board(judged_twice, _agreement_lines, lambda row: row.agrees)


@dataclass(frozen=True, slots=True)
class TriedFix:
    template: str
    code: str
    reason: UnfixedReason | None
    """None if it was fixed."""
    renders: int = 0
    """Conversations of the proof, each rendered by both templates."""
    tried: int = 0


def tried_fixes(path: Path) -> list[TriedFix]:
    rules = RuleChoice(None, (), tuple(rule.code for rule in rules_for(Profile.RELEASE))).rules
    shown = FindingFilter(Profile.RELEASE)
    request = LintRequest((str(path),), rules, ProjectSettings(), finding_filter=shown)
    return [
        TriedFix(
            path.stem,
            fix.finding.code,
            fix.reason,
            0 if fix.proof is None or fix.reason else fix.proof.conversations,
            fix.tried,
        )
        for template in fix_sources(request).templates
        for fix in template.fixed.fixes
    ]


def _fix_lines(answers: Sequence[Sequence[TriedFix]]) -> Iterator[str]:
    found = [row for answer in answers for row in answer]
    rules = {rule.code: rule for rule in all_rules()}
    known = [row for row in found if rules[row.code].fixable]
    others = [row for row in found if not rules[row.code].fixable]
    yield "found fixed unsafe  no edit not proven stays   new limit  rule"
    for code in sorted({row.code for row in known}):
        yield _row([row for row in known if row.code == code], f"{code} {rules[code].name}")
    yield _row(known, "all")
    gone = sum(other.reason is None for other in others)
    yield f"{len(others)} findings of rules without edits, {gone} of them gone with others"
    showing, fixable, changed = map(
        _templates, (found, known, [row for row in found if row.reason is None])
    )
    yield f"{showing} templates show findings, {fixable} some with edits; {changed} were changed"
    renders = sum(row.renders for row in found)
    tried = sum(row.tried for row in found)
    yield f"{tried} edits were rendered with; fixed ones were proven by {renders} conversations"


def _templates(found: Iterable[TriedFix]) -> int:
    return len({row.template for row in found})


_WIDTHS = {
    UnfixedReason.UNSAFE: 6,
    UnfixedReason.NO_EDIT: 8,
    UnfixedReason.NOT_PROVEN: 10,
    UnfixedReason.NOT_GONE: 5,
    UnfixedReason.NEW: 5,
    UnfixedReason.NOT_FINISHED: 5,
}


def _row(found: Sequence[TriedFix], words: str) -> str:
    counts = Counter(row.reason for row in found)
    left = " ".join(f"{counts[reason]:>{width}}" for reason, width in _WIDTHS.items())
    return f"{len(found):>5} {counts[None]:>5} {left}  {words}"


FIXES = Board(tried_fixes, _fix_lines, lambda _: True, chunk=1)
