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
    document_json,
)
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.lint.hit import Confidence, Severity, ShownText
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_settings import FailOn
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.rule import Profile, RuleNeed

from .text import StatisticDocument, count_findings
from .words import line_place


class OriginDocument(JsonDocument, frozen=True):
    """The template line that wrote a piece of a text."""

    at: Count
    """Offset of the piece in the text, in characters, e.g. `55`."""
    line: Positive
    """The template's line, from 1, e.g. `24`."""


class ShownDocument(JsonDocument, frozen=True):
    """A text that shows a finding."""

    label: str
    """A description of the text, e.g. `"with content"`."""
    text: str
    r"""The whole text, e.g. `"<|im_start|>user\n…"`; empty if the template raised."""
    error: str | None
    """The template's own error message, if it raised, e.g. `"Only one call at a time."`."""
    messages: tuple[Json, ...]
    """The rendered conversation, e.g. one question; empty if the text is not a render."""
    origins: tuple[OriginDocument, ...]
    """The lines that wrote the text, in its order, e.g. 24 from offset 55 on; empty if unknown."""


class LintEvidenceDocument(JsonDocument, frozen=True):
    """One text, or two that differ in the rule's subject."""

    one: ShownDocument
    """The text with the fault, or the first, e.g. labeled `"with content"`."""
    other: ShownDocument | None
    """The text to compare it with, e.g. `"without content"`; null if the first is enough."""


class FindingDocument(JsonDocument, frozen=True):
    """A finding of a rule."""

    code: RuleCode
    """The rule, e.g. `"AP306"`."""
    name: str
    """The rule's name, e.g. `"content-dropped-beside-calls"`."""
    severity: Severity
    """The severity, e.g. `"error"`."""
    confidence: Confidence
    """The confidence of the rule, e.g. `"high"`."""
    fails: bool
    """Whether its severity makes the run fail, e.g. `true` for an error by default."""
    message: str
    """The effect, without a full stop, e.g. `"content beside a call is not in the prompt"`."""
    setting: Mapping[str, Json]
    """The switches that the finding needs, with their values, e.g. `{"enable_thinking": false}`;
    empty if it applies to all settings."""
    line: Positive | None
    """The template's line, from 1, e.g. `30`."""
    line_in_file: Positive | None
    """The same as a line of the file, e.g. `30`; null if the template is inside JSON or GGUF."""
    column_in_file: Positive | None
    """The column from 1 of the place, or of its line's text, e.g. `21`; null without a line."""
    fix: str | None
    """An edit of the template, e.g. `"render the content before the calls, with and without
    calls"`; null if none is known."""
    also: tuple[RuleCode, ...]
    """Rules with the same cause that were merged into this finding, e.g. `["AP529"]`."""
    engines: tuple[str, ...]
    """The effect in installed engines, a sentence each; empty (`[]`) if none was asked."""
    evidence: tuple[LintEvidenceDocument, ...]
    """The texts that show it, e.g. those labeled `"with content"` and `"without content"`."""
    rests_on: dict[TurnPart, EvidenceKind]
    """The evidence for the parts of the format that the rule uses, e.g. `{"calls": "render"}`;
    empty if it uses only renders."""


class UnusedIgnoreDocument(JsonDocument, frozen=True):
    """A comment that ignores a finding that does not exist."""

    line: Positive
    """The template's line with the start of the comment, from 1, e.g. `1`."""
    selectors: tuple[str, ...]
    """The rules that it names, e.g. `["AP301"]`."""
    reason: str
    """The author's reason, e.g. `"no calls"`; empty without one."""


class LeftOutRuleDocument(JsonDocument, frozen=True):
    """A rule that could not run."""

    code: RuleCode
    """The rule, e.g. `"AP210"`."""
    needs: RuleNeed
    """The missing requirement, e.g. `"a tokenizer"`."""


class LintedTemplateDocument(JsonDocument, frozen=True):
    """A checked template."""

    path: str
    """The file or source, e.g. `"chat_template.jinja"`; relative to the working directory."""
    name: str | None
    """The template's name if its source has several, e.g. `"tool_use"`."""
    findings: tuple[FindingDocument, ...]
    """Findings that count, the most severe first, e.g. one of `"AP306"`."""
    known: Count
    """Number of findings in the baseline, e.g. `0` without one."""
    ignored: Count
    """Number of findings ignored by comments and settings, e.g. `0`."""
    folded: tuple[RuleCode, ...]
    """The rules of findings that the profile hides, one for each, e.g. `["AP108", "AP108"]`."""
    unused_ignores: tuple[UnusedIgnoreDocument, ...]
    """Comments that ignore a finding that does not exist, e.g. of `["AP301"]`."""
    remarks: tuple[str, ...]
    """Other obstacles, such as a tokenizer that cannot be loaded; usually none (`[]`)."""
    left_out: tuple[LeftOutRuleDocument, ...]
    """Rules that could not run, e.g. `"AP210"` without a tokenizer."""
    evidence: dict[TurnPart, EvidenceKind]
    """The evidence for the format of each part of a turn, e.g. `{"calls": "render"}`; empty if it
    cannot be analyzed."""
    unwritten_tokens: tuple[str, ...]
    """Added tokens of the tokenizer in a model's directory that no render contains, e.g.
    `["</s>"]`, if the template renders no calls or no reasoning; the model may write them."""


class ProblemDocument(JsonDocument, frozen=True):
    """An input that could not be checked."""

    path: str
    """The input, e.g. `"no-such.jinja"`."""
    line: Positive | None
    """The line in the file, from 1, e.g. `3`; null if unknown."""
    place: str | None
    """The place in the file, if it is not a line, e.g. `"byte 42"`."""
    message: str
    """The problem, e.g. `"no such file or directory"`."""
    hint: str | None
    """The way out, e.g. `"pass a template file, a model directory, …"`; null if none is known."""


class BaselineDocument(JsonDocument, frozen=True):
    """The comparison with the baseline."""

    vanished: Count
    """Entries of the baseline that no longer match a finding, e.g. `0`."""


class LintDocument(JsonDocument, frozen=True):
    """A run of the linter."""

    schema: Literal["autoparser.lint/1"]
    """Name and version, `"autoparser.lint/1"`; the version is increased by every change that is not
    an addition."""
    profile: Profile
    """The profile that selects findings, e.g. `"release"`."""
    min_severity: Severity
    """The minimum severity of shown findings, e.g. `"info"`."""
    fail_on: FailOn
    """The minimum severity that makes the run fail, e.g. `"error"`."""
    failed: bool
    """Whether a finding makes the run fail, e.g. `true` if one is an error."""
    rules: tuple[RuleCode, ...]
    """The rules that were selected, e.g. `["AP101", "AP102", …]`."""
    templates: tuple[LintedTemplateDocument, ...]
    """Every checked template, including those without findings, e.g. `"chat_template.jinja"`."""
    problems: tuple[ProblemDocument, ...]
    """Inputs that could not be checked, e.g. `"no-such.jinja"`; with any, the exit code is 2."""
    left_out: tuple[ProblemDocument, ...]
    """Entries of a folder or a pattern that are no files, such as a named pipe; usually `[]`."""
    baseline: BaselineDocument | None
    """The comparison with the file of `--baseline`, e.g. 0 vanished entries; null without one."""
    statistics: tuple[StatisticDocument, ...]
    """Each rule with findings, the most frequent first, e.g. `"AP314"` in 2 templates."""


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
        # Null without a baseline, where 0 would mean that all of it still matches.
        BaselineDocument(run.vanished) if run.baseline else None,
        tuple(count_findings(run)),
    )
    return document_json(document)


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
        findings=tuple(_finding_document(template, finding, run) for finding in template.findings),
        # Counts only: accepted findings are not a result of this run.
        known=len(template.baseline_findings),
        ignored=len(template.ignored),
        # Codes only: they show whether a run with a wider profile is worthwhile.
        folded=tuple(finding.code for finding in template.folded),
        unused_ignores=convert(
            template.unused, tuple[UnusedIgnoreDocument, ...], from_attributes=True
        ),
        left_out=tuple(LeftOutRuleDocument(rule.code, need) for rule, need in template.left_out),
        evidence=dict(template.evidence),
        unwritten_tokens=template.unwritten,
    )


def _finding_document(
    template: InspectedTemplate, finding: LintFinding, run: LintRun
) -> FindingDocument:
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
