"""A run as JSON; ``docs/lint.schema.json`` is made of the classes here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    Positive,
    RuleCode,
    copy_fields,
    json_of,
)
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.lint.hit import Confidence, Severity, ShownText
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_settings import FailOn
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.rule import Profile, RuleNeed

from .text import counted
from .words import line_place


class OriginDocument(JsonDocument, frozen=True):
    """Where a line of the template begins to write."""

    at: Count
    """Characters of the text before the place."""
    line: Positive
    """The template's line, from 1."""


class ShownDocument(JsonDocument, frozen=True):
    """A text that shows something."""

    label: str
    """What the text is."""
    text: str
    """The text, whole; empty where the template raised."""
    error: str | None
    """The template's own words where it raised."""
    messages: tuple[Json, ...]
    """The conversation that was rendered; empty where the text is not a render."""
    origins: tuple[OriginDocument, ...]
    """Which lines wrote the text, in its order; empty where they are not known."""


class LintEvidenceDocument(JsonDocument, frozen=True):
    """One text, or two that differ in what the rule is about."""

    one: ShownDocument
    other: ShownDocument | None


class FindingDocument(JsonDocument, frozen=True):
    """What a rule says."""

    code: RuleCode
    name: str
    severity: Severity
    confidence: Confidence
    fails: bool
    """Whether it is of a severity to fail on."""
    message: str
    """What happens to whom, without a full stop."""
    setting: Mapping[str, Json]
    """The switches under which alone it holds, with their values; empty where it always does."""
    line: Positive | None
    """The template's line, from 1."""
    line_in_file: Positive | None
    """The same as a line of the file; null where a template is within JSON or GGUF."""
    column_in_file: Positive | None
    """The place in that line, else where its text begins, from 1; null where there is no line."""
    fix: str | None
    also: tuple[RuleCode, ...]
    """Rules that saw the same cause and were merged into this finding."""
    engines: tuple[str, ...]
    """What installed engines make of it, a sentence each; empty where none was asked."""
    evidence: tuple[LintEvidenceDocument, ...]
    """What shows it."""
    rests_on: dict[TurnPart, EvidenceKind]
    """The part of a turn by whose format the rule goes, and what says how that is written; empty
    where it goes by renders alone."""


class UnusedIgnoreDocument(JsonDocument, frozen=True):
    """A comment that accepts what was not found."""

    line: Positive
    selectors: tuple[str, ...]
    reason: str


class LeftOutRuleDocument(JsonDocument, frozen=True):
    """A rule that could not look."""

    code: RuleCode
    needs: RuleNeed
    """What it lacks."""


class LintedTemplateDocument(JsonDocument, frozen=True):
    """A template that was looked at."""

    path: str
    """The file or source; relative to the working directory where it is below that."""
    name: str | None
    """The template's name where its source has several."""
    findings: tuple[FindingDocument, ...]
    """Those that count, the weightiest first."""
    known: Count
    """How many findings are in the baseline."""
    ignored: Count
    """How many findings comments and settings accept."""
    folded: tuple[RuleCode, ...]
    """The rules of findings that the profile does not show, a code for each finding."""
    unused_ignores: tuple[UnusedIgnoreDocument, ...]
    """Comments that accept what was not found."""
    remarks: tuple[str, ...]
    """What else was in the way, such as a tokenizer that cannot be read."""
    left_out: tuple[LeftOutRuleDocument, ...]
    """Rules that could not look."""
    evidence: dict[TurnPart, EvidenceKind]
    """What says how each part of a turn is written, by which rules go; empty where it cannot be
    analyzed."""
    unwritten_tokens: tuple[str, ...]
    """Added tokens of the tokenizer in a model's directory that no render writes, where the
    template shows no calls or no reasoning; the model may write them."""


class ProblemDocument(JsonDocument, frozen=True):
    """What could not be looked at."""

    path: str
    line: Positive | None
    place: str | None
    """Where in the file, where that is not a line."""
    message: str
    hint: str | None


class BaselineDocument(JsonDocument, frozen=True):
    """What became of the findings that were known."""

    vanished: Count
    """Entries of the baseline that match nothing any more."""


class StatisticDocument(JsonDocument, frozen=True):
    """A rule that fired."""

    code: RuleCode
    name: str
    findings: Count
    templates: Count
    """Templates with at least one."""
    merged: Count
    """Findings of other rules in which this one saw the same cause."""


class LintDocument(JsonDocument, frozen=True):
    """A run of the linter."""

    schema: Literal["autoparser.lint/1"]
    """Name and version; a change that is more than an addition counts it up."""
    profile: Profile
    """For whom findings are shown."""
    min_severity: Severity
    """What weighs less is not shown."""
    fail_on: FailOn
    failed: bool
    """Whether there is a finding to fail on."""
    rules: tuple[RuleCode, ...]
    """The rules that were to look."""
    templates: tuple[LintedTemplateDocument, ...]
    """Every template that was looked at, those without findings too."""
    problems: tuple[ProblemDocument, ...]
    """What could not be looked at; with any the exit code is 2."""
    left_out: tuple[ProblemDocument, ...]
    """What a folder or a pattern has that is no file, such as a named pipe."""
    baseline: BaselineDocument | None
    statistics: tuple[StatisticDocument, ...]
    """Each rule that fired, the most frequent first."""


def lint_document(run: LintRun) -> dict[str, Json]:
    """Return a run as plain values; texts are whole and as they were."""
    document = LintDocument(
        "autoparser.lint/1",
        run.finding_filter.profile,
        run.finding_filter.min_severity,
        run.fail_on,
        run.failed,
        tuple(rule.code for rule in run.rules),
        tuple(_template(template, run) for template in run.templates),
        _problems(run.problems),
        _problems(run.left_out),
        BaselineDocument(run.vanished) if run.baseline else None,
        tuple(
            copy_fields(StatisticDocument, each, code=each.rule.code, name=each.rule.name)
            for each in counted(run)
        ),
    )
    return json_of(document)


def _problems(problems: Iterable[InputProblem]) -> tuple[ProblemDocument, ...]:
    return tuple(
        copy_fields(
            ProblemDocument, problem, place=problem.place or None, hint=problem.hint or None
        )
        for problem in problems
    )


def _template(template: InspectedTemplate, run: LintRun) -> LintedTemplateDocument:
    return copy_fields(
        LintedTemplateDocument,
        template,
        findings=tuple(_finding(template, finding, run) for finding in template.findings),
        known=len(template.baseline_findings),
        ignored=len(template.ignored),
        folded=tuple(each.code for each in template.folded),
        unused_ignores=convert(
            template.unused, tuple[UnusedIgnoreDocument, ...], from_attributes=True
        ),
        left_out=tuple(LeftOutRuleDocument(rule.code, need) for rule, need in template.left_out),
        evidence=dict(template.evidence),
        unwritten_tokens=template.unwritten,
    )


def _finding(template: InspectedTemplate, finding: LintFinding, run: LintRun) -> FindingDocument:
    place = line_place(template, finding.line, finding.column)
    return copy_fields(
        FindingDocument,
        finding,
        name=finding.rule.name,
        fails=run.fails(finding),
        setting=finding.hit.setting,
        line_in_file=None if place is None else place.line,
        column_in_file=None if place is None else place.column,
        fix=finding.fix or None,
        engines=finding.hit.engines,
        evidence=tuple(
            LintEvidenceDocument(
                _shown_document(each.one),
                None if each.other is None else _shown_document(each.other),
            )
            for each in finding.evidence
        ),
        rests_on=dict(template.rests_on(finding.rule)),
    )


def _shown_document(shown_text: ShownText) -> ShownDocument:
    origins = tuple(OriginDocument(at, line) for at, line in shown_text.origins)
    return copy_fields(ShownDocument, shown_text, error=shown_text.error or None, origins=origins)
