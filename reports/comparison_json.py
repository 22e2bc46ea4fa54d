"""A comparison as JSON; ``docs/compare.schema.json`` is generated from these classes."""

from __future__ import annotations

from typing import Literal

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    Digest,
    JsonDocument,
    Positive,
    RuleCode,
    SettingValues,
    copy_fields,
    json_of,
)
from autoparser.analysis.core.question_bounds import AskedBounds
from autoparser.analysis.formats.format_document import CheckCounts, check_counts
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.overview.compared_texts import RenderChange
from autoparser.analysis.overview.comparison import (
    CacheTurns,
    Comparison,
    FindingChange,
    FindingFate,
    TripChange,
)
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .places import template_place


class SideDocument(JsonDocument, frozen=True):
    """One of the two templates."""

    name: str | None
    origin: str | None
    sha256: Digest
    """SHA-256 of the template's text."""
    check: CheckCounts


class ShareDocument(JsonDocument, frozen=True):
    """Number of rendered conversations, and of those that differ."""

    total: Count
    differing: Count


class RendersDocument(JsonDocument, frozen=True):
    """Differences between renders."""

    total: Count
    """Conversations that at least one of the two rendered with default settings."""
    differing: Count
    """Number of these that differ."""
    under_switches: ShareDocument
    """The same under a switch's value, or two; counts differences that do not show with default
    settings."""
    changed: tuple[RenderChange, ...]
    """The kinds of differences: those under default settings first, then by frequency. A difference
    under default settings is not repeated under a switch."""


class RefusedDocument(JsonDocument, frozen=True):
    """Conversations that both templates refuse; the error messages are not compared."""

    renders: Count
    conversations: tuple[str, ...]
    """Renders that both reject under all settings."""
    settings: tuple[SettingValues, ...]
    """Settings under which both refuse all conversations."""


class LeftOutRendersDocument(JsonDocument, frozen=True):
    """Requests omitted to save time."""

    settings: tuple[SettingValues, ...]
    pairs: Count
    renders: Count
    """Renders omitted because earlier ones ran into a limit."""


class AskedDocument(JsonDocument, frozen=True):
    """The range of the requests, and the omitted ones."""

    usual: SettingValues
    """Switches set in every render because the template renders nothing without them."""
    settings: tuple[SettingValues, ...]
    """Values of switches, each tried alone."""
    pairs: Count
    """Pairs of values of two switches tried together."""
    content: tuple[str, ...]
    """Kinds of content that were sent and that at least one template renders."""
    refused_by_both: RefusedDocument
    left_out: LeftOutRendersDocument
    bounds: AskedBounds
    """The largest requests that either template rendered."""


class RoundTripsDocument(JsonDocument, frozen=True):
    """Turns in later prompts."""

    total: Count
    """Combinations of a scenario and the next message's role that apply to either template."""
    changed: tuple[TripChange, ...]


class FindingChangeDocument(JsonDocument, frozen=True):
    """A finding that differs between the two."""

    change: FindingFate
    code: RuleCode
    severity: Severity
    message: str
    line: Positive | None
    """The line, from 1: in the first template for a fixed finding, else in the second."""
    column: Positive | None
    """The column, from 1, at which that line's text begins; null if there is no line."""


class ComparisonDocument(JsonDocument, frozen=True):
    """All differences."""

    schema: Literal["autoparser.compare/3"]
    """Name and version; the version is increased by every change that is not an addition."""
    equal: bool
    """Whether no difference was found."""
    same_text: bool
    """Whether the two templates have the same text."""
    left: SideDocument
    right: SideDocument
    format: tuple[FactChange, ...]
    """Facts of the format that differ, by aspect."""
    renders: RendersDocument | None
    """Null if one of the two is a saved format, as are the three fields after it: saved formats are
    not rendered."""
    asked: AskedDocument | None
    round_trips: RoundTripsDocument | None
    findings: tuple[FindingChangeDocument, ...] | None
    """Findings of lint that differ."""
    cache: tuple[CacheTurns, CacheTurns] | None
    """Turns of a conversation of ten that lose the prefix cache, with either template; null next to
    a saved format."""


def format_comparison_document(comparison: FormatComparison) -> dict[str, Json]:
    """Return all differences between two learned formats, without renders."""
    return _document(
        comparison, renders=None, asked=None, round_trips=None, findings=None, cache=None
    )


def comparison_document(comparison: Comparison) -> dict[str, Json]:
    """Return all differences."""
    asked = comparison.coverage
    return _document(
        comparison,
        renders=RendersDocument(
            asked.renders,
            asked.differing,
            ShareDocument(asked.switched, asked.switched_differing),
            comparison.renders,
        ),
        asked=copy_fields(
            AskedDocument,
            asked,
            content=asked.parts,
            refused_by_both=RefusedDocument(
                asked.refused, asked.refused_conversations, asked.refused_settings
            ),
            left_out=LeftOutRendersDocument(asked.left_out, asked.left_out_pairs, asked.unanswered),
        ),
        round_trips=RoundTripsDocument(comparison.trip_count, tuple(comparison.trips)),
        findings=tuple(_finding_change(finding, comparison) for finding in comparison.findings),
        cache=comparison.cache,
    )


def _document(comparison: Comparison | FormatComparison, **own: object) -> dict[str, Json]:
    left, right = (
        copy_fields(SideDocument, side.template, sha256=side.sha256, check=check_counts(side.check))
        for side in (comparison.left, comparison.right)
    )
    document = copy_fields(
        ComparisonDocument,
        comparison,
        schema="autoparser.compare/3",
        left=left,
        right=right,
        format=comparison.facts,
        **own,
    )
    return json_of(document)


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
