"""What was fixed in templates as JSON; ``docs/fix.schema.json`` is made of the classes here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, RuleCode, json_of
from autoparser.analysis.editing.edit_proof import ProvenEdit
from autoparser.analysis.editing.lint_fixes import FindingFix, FixRun, FixTarget, UnfixedReason
from autoparser.analysis.lint.project_sources import InputProblem

from .preserving import template_diff

__all__ = ["FixDocument", "fix_document"]


class ChangedRenderDocument(JsonDocument, frozen=True):
    """A conversation that an edited template renders to another text."""

    conversation: str
    before: str | None
    """Null where the original raises."""
    after: str
    mended: tuple[str, ...]
    """What was wrong, in words."""
    asked_for: bool
    """Whether a shown finding calls all of that wrong."""


class FixProofDocument(JsonDocument, frozen=True):
    """What both templates rendered."""

    conversations: Count
    """All of them."""
    changed: Count
    """Those whose text differs; in each of them less is wrong than before."""
    better: Count
    """Things that were wrong and are not any more."""
    raising: Count
    """Those that both templates refuse; none raises that did not."""
    kinds: dict[str, Count]
    """How many conversations are of each kind, such as those with tools."""
    beyond: Count
    """Of those whose text differs, those that no shown finding calls wrong: it is unsafe."""
    spoiled: Count
    """Of them, those at which the original crashed, and which are rendered now as nobody means."""
    examples: tuple[ChangedRenderDocument, ...]
    """One render for each kind of what is mended."""


class FindingFixDocument(JsonDocument, frozen=True):
    """A finding, and what was done about it."""

    code: RuleCode
    name: str
    message: str
    """What the finding says."""
    fixed: bool
    reason: UnfixedReason | None
    """Why the finding stays; null where it is fixed."""
    why: str
    """The same in whole words; empty where it is fixed."""
    safe: bool | None
    """Whether the edits change what shown findings call wrong alone; null where there are none."""
    edits: Count
    """How many edits are made together."""
    tried: Count
    """How many were tried."""
    proof: FixProofDocument | None


class FixedTemplateDocument(JsonDocument, frozen=True):
    """A template that was looked at."""

    path: str
    name: str | None
    """The template's name where its source has several."""
    changed: bool
    diff: str
    """A unified diff; empty where nothing was fixed."""
    text: str
    """The whole template with what was fixed."""
    findings: tuple[FindingFixDocument, ...]


class FixProblemDocument(JsonDocument, frozen=True):
    """An input that could not be looked at, or not to the end, or not be written."""

    path: str
    message: str
    hint: str


class FixDocument(JsonDocument, frozen=True):
    """What `autoparser fix` found and did."""

    schema: Literal["autoparser.fix/1"]
    written: bool
    """Whether the files were changed."""
    templates: tuple[FixedTemplateDocument, ...]
    problems: tuple[FixProblemDocument, ...]


def fix_document(
    run: FixRun, *, written: bool, unwritten: Sequence[InputProblem] = ()
) -> dict[str, Json]:
    """Return a run as JSON values."""
    return json_of(
        FixDocument(
            "autoparser.fix/1",
            written,
            tuple(map(_template, run.templates)),
            tuple(map(_problem, (*run.problems, *unwritten))),
        )
    )


def _template(target: FixTarget) -> FixedTemplateDocument:
    fixed = target.fixed
    return FixedTemplateDocument(
        target.inspected.path,
        target.inspected.name,
        fixed.changed,
        template_diff(fixed.original, fixed.template),
        fixed.template.text,
        tuple(map(_finding, fixed.fixes)),
    )


def _finding(fix: FindingFix) -> FindingFixDocument:
    proof = fix.proof
    return FindingFixDocument(
        fix.finding.code,
        fix.finding.rule.name,
        fix.finding.message,
        fix.reason is None,
        fix.reason,
        fix.why,
        None if proof is None else proof.safe,
        len(fix.edits),
        fix.tried,
        None if proof is None else _proof(proof),
    )


def _proof(proof: ProvenEdit) -> FixProofDocument:
    return FixProofDocument(
        proof.conversations,
        proof.changed,
        proof.better,
        proof.raising,
        {**proof.kinds},
        proof.beyond,
        proof.spoiled,
        tuple(
            ChangedRenderDocument(
                each.conversation, each.before, each.after, each.mended, each.asked_for
            )
            for each in proof.examples
        ),
    )


def _problem(problem: InputProblem) -> FixProblemDocument:
    return FixProblemDocument(problem.path, problem.message, problem.hint)
