"""A comparison as JSON; ``docs/compare.schema.json`` is generated from these classes."""

from __future__ import annotations

from typing import Any, Literal

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Digest,
    JsonDocument,
    Positive,
    RuleCode,
    copy_fields,
    document_json,
)
from autoparser.analysis.formats.format_document import CheckCounts, check_counts
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.overview.comparison import (
    AskedDocument,
    CacheTurns,
    Comparison,
    FindingChange,
    FindingFate,
    RendersDocument,
    RoundTripsDocument,
)
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .places import template_place


class SideDocument(JsonDocument, frozen=True):
    """One of the two templates."""

    name: str | None
    """Its name among the templates of a model, e.g. `"default"`, or null."""
    origin: str | None
    """Its file or model, e.g. `"before.jinja"`; null for a text that was given directly."""
    sha256: Digest
    """SHA-256 of the template's text, e.g. `"3cd5647e…"`."""
    check: CheckCounts
    """The counts of the self-check, e.g. 47 of 47 messages pass."""


class FindingChangeDocument(JsonDocument, frozen=True):
    """A finding that differs between the two."""

    change: FindingFate
    """Whether it is new, changed or fixed, e.g. `"fixed"`."""
    code: RuleCode
    """The rule, e.g. `"AP401"`."""
    severity: Severity
    """The severity, e.g. `"warning"`."""
    message: str
    """The message, e.g. `"the reasoning of an answer is dropped after the next user message"`."""
    line: Positive | None
    """The line, from 1, e.g. `18`: in the first template if fixed, else in the second."""
    column: Positive | None
    """The column, from 1, at which that line's text begins, e.g. `13`; null if there is no line."""


class ComparisonDocument(JsonDocument, frozen=True):
    """All differences."""

    schema: Literal["autoparser.compare/3"]
    """Name and version, `"autoparser.compare/3"`; the version is increased by every change that is
    not an addition."""
    equal: bool
    """Whether no difference was found, e.g. `true` for templates that differ only in comments."""
    same_text: bool
    """Whether the two templates have the same text, e.g. `true` for two copies."""
    left: SideDocument
    """The first template, e.g. from `"before.jinja"`."""
    right: SideDocument
    """The second template, e.g. from `"after.jinja"`."""
    format: tuple[FactChange, ...]
    """Facts of the format that differ, by aspect, e.g. `tools` of `"modes"`."""
    renders: RendersDocument | None
    """The renders that differ, e.g. 189 of 189; null if one of the two is a saved format, as are
    the three fields after it: saved formats are not rendered."""
    asked: AskedDocument | None
    """The range of the renders, e.g. with 12 pairs of values."""
    round_trips: RoundTripsDocument | None
    """The verdicts that differ, e.g. 13 of 56."""
    findings: tuple[FindingChangeDocument, ...] | None
    """Findings of lint that differ, e.g. one of `"AP401"` that is fixed."""
    cache: tuple[CacheTurns, CacheTurns] | None
    """Turns of a conversation of ten that lose the prefix cache, with either template, e.g. 2 and
    10; null next to a saved format."""


def comparison_document(comparison: Comparison | FormatComparison) -> dict[str, Json]:
    """Return all differences."""
    left, right = (
        copy_fields(SideDocument, side.template, sha256=side.sha256, check=check_counts(side.check))
        for side in (comparison.left, comparison.right)
    )
    if isinstance(comparison, FormatComparison):
        # Null, not left out: a reader of the JSON finds the same keys in every comparison.
        absent = ("renders", "asked", "round_trips", "findings", "cache")
        own: dict[str, Any] = dict.fromkeys(absent)
    else:
        found = (_finding_change(finding, comparison) for finding in comparison.findings)
        own = {"findings": tuple(found)}
    document = copy_fields(
        ComparisonDocument,
        comparison,
        schema="autoparser.compare/3",
        left=left,
        right=right,
        format=comparison.facts,
        **own,
    )
    return document_json(document)


def _finding_change(change: FindingChange, comparison: Comparison) -> FindingChangeDocument:
    finding = change.finding
    # A fixed finding exists only in the first template, to which its line refers.
    template = (comparison.left if change.right is None else comparison.right).template
    place = template_place(template, finding.line)
    return copy_fields(
        FindingChangeDocument,
        finding,
        change=change.fate,
        column=None if place is None else place.column,
    )
