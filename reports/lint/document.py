"""A run as JSON; ``docs/lint.schema.json`` is generated from these classes."""

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
    """The template line that wrote a piece of a text."""

    at: Count
    """Offset of the piece in the text, in characters."""
    line: Positive
    """The template's line, from 1."""


class ShownDocument(JsonDocument, frozen=True):
    """A text that shows a finding."""

    label: str
    """A description of the text."""
    text: str
    """The whole text; empty if the template raised."""
    error: str | None
    """The template's own error message, if it raised."""
    messages: tuple[Json, ...]
    """The rendered conversation; empty if the text is not a render."""
    origins: tuple[OriginDocument, ...]
    """The lines that wrote the text, in its order; empty if unknown."""


class LintEvidenceDocument(JsonDocument, frozen=True):
    """One text, or two that differ in the rule's subject."""

    one: ShownDocument
    other: ShownDocument | None


class FindingDocument(JsonDocument, frozen=True):
    """A finding of a rule."""

    code: RuleCode
    name: str
    severity: Severity
    confidence: Confidence
    fails: bool
    """Whether its severity makes the run fail."""
    message: str
    """The effect, and on whom, without a full stop."""
    setting: Mapping[str, Json]
    """The switches that the finding needs, with their values; empty if it applies to all
    settings."""
    line: Positive | None
    """The template's line, from 1."""
    line_in_file: Positive | None
    """The same as a line of the file; null if the template is inside JSON or GGUF."""
    column_in_file: Positive | None
    """The column from 1 of the place, or of its line's text; null if there is no line."""
    fix: str | None
    also: tuple[RuleCode, ...]
    """Rules with the same cause that were merged into this finding."""
    engines: tuple[str, ...]
    """The effect in installed engines, a sentence each; empty if none was asked."""
    evidence: tuple[LintEvidenceDocument, ...]
    """The texts that show it."""
    rests_on: dict[TurnPart, EvidenceKind]
    """The evidence for the parts of the format that the rule uses; empty if it uses only
    renders."""


class UnusedIgnoreDocument(JsonDocument, frozen=True):
    """A comment that ignores a finding that does not exist."""

    line: Positive
    selectors: tuple[str, ...]
    reason: str


class LeftOutRuleDocument(JsonDocument, frozen=True):
    """A rule that could not run."""

    code: RuleCode
    needs: RuleNeed
    """The missing requirement."""


class LintedTemplateDocument(JsonDocument, frozen=True):
    """A checked template."""

    path: str
    """The file or source; relative if it is below the working directory."""
    name: str | None
    """The template's name if its source has several."""
    findings: tuple[FindingDocument, ...]
    """Findings that count, the most severe first."""
    known: Count
    """Number of findings in the baseline."""
    ignored: Count
    """Number of findings ignored by comments and settings."""
    folded: tuple[RuleCode, ...]
    """The rules of findings that the profile hides, a code for each finding."""
    unused_ignores: tuple[UnusedIgnoreDocument, ...]
    """Comments that ignore a finding that does not exist."""
    remarks: tuple[str, ...]
    """Other obstacles, such as a tokenizer that cannot be loaded."""
    left_out: tuple[LeftOutRuleDocument, ...]
    """Rules that could not run."""
    evidence: dict[TurnPart, EvidenceKind]
    """The evidence for the format of each part of a turn; empty if it cannot be analyzed."""
    unwritten_tokens: tuple[str, ...]
    """Added tokens of the tokenizer in a model's directory that no render contains, if the template
    renders no calls or no reasoning; the model may write them."""


class ProblemDocument(JsonDocument, frozen=True):
    """An input that could not be checked."""

    path: str
    line: Positive | None
    place: str | None
    """The place in the file, if it is not a line."""
    message: str
    hint: str | None


class BaselineDocument(JsonDocument, frozen=True):
    """The comparison with the baseline."""

    vanished: Count
    """Entries of the baseline that no longer match a finding."""


class StatisticDocument(JsonDocument, frozen=True):
    """The findings of one rule."""

    code: RuleCode
    name: str
    findings: Count
    templates: Count
    """Number of templates with at least one."""
    merged: Count
    """Findings of other rules with the same cause, merged into this rule's."""


class LintDocument(JsonDocument, frozen=True):
    """A run of the linter."""

    schema: Literal["autoparser.lint/1"]
    """Name and version; the version is increased by every change that is not an addition."""
    profile: Profile
    """The profile that selects findings."""
    min_severity: Severity
    """The minimum severity of shown findings."""
    fail_on: FailOn
    failed: bool
    """Whether a finding makes the run fail."""
    rules: tuple[RuleCode, ...]
    """The rules that were selected."""
    templates: tuple[LintedTemplateDocument, ...]
    """Every checked template, including those without findings."""
    problems: tuple[ProblemDocument, ...]
    """Inputs that could not be checked; with any, the exit code is 2."""
    left_out: tuple[ProblemDocument, ...]
    """Entries of a folder or a pattern that are not files, such as a named pipe."""
    baseline: BaselineDocument | None
    statistics: tuple[StatisticDocument, ...]
    """Each rule with findings, the most frequent first."""


def lint_document(run: LintRun) -> dict[str, Json]:
    """Return a run as plain values, with whole, unchanged texts."""
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
            copy_fields(StatisticDocument, count, code=count.rule.code, name=count.rule.name)
            for count in counted(run)
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
        folded=tuple(finding.code for finding in template.folded),
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
                _shown_document(evidence.one),
                None if evidence.other is None else _shown_document(evidence.other),
            )
            for evidence in finding.evidence
        ),
        rests_on=dict(template.rests_on(finding.rule)),
    )


def _shown_document(shown_text: ShownText) -> ShownDocument:
    origins = tuple(OriginDocument(at, line) for at, line in shown_text.origins)
    return copy_fields(ShownDocument, shown_text, error=shown_text.error or None, origins=origins)
