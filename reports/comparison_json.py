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
    document_json,
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
    """Its name among the templates of a model, e.g. `"default"`, or null."""
    origin: str | None
    """Its file or model, e.g. `"before.jinja"`; null for a text that was given directly."""
    sha256: Digest
    """SHA-256 of the template's text, e.g. `"3cd5647e…"`."""
    check: CheckCounts
    """The counts of the self-check, e.g. 47 of 47 messages pass."""


class ShareDocument(JsonDocument, frozen=True):
    """Number of rendered conversations, and of those that differ."""

    total: Count
    """Conversations that were rendered, e.g. `444`."""
    differing: Count
    """Number of these that differ, e.g. `40`."""


class RendersDocument(JsonDocument, frozen=True):
    """Differences between renders."""

    total: Count
    """Conversations that at least one of the two rendered with default settings, e.g. `189`."""
    differing: Count
    """Number of these that differ, e.g. `189`."""
    under_switches: ShareDocument
    """The same under a switch's value, or two, e.g. 40 of 444; counts differences that do not show
    with default settings."""
    changed: tuple[RenderChange, ...]
    """The kinds of differences, e.g. one after `"user"` in 187 renders: those under default
    settings first, then by frequency. A difference under default settings is not repeated under a
    switch."""


class RefusedDocument(JsonDocument, frozen=True):
    """Conversations that both templates refuse; the error messages are not compared."""

    renders: Count
    """Number of renders that both refuse, e.g. `262`."""
    conversations: tuple[str, ...]
    """Renders that both reject under all settings, e.g. `["user parts: text"]`."""
    settings: tuple[SettingValues, ...]
    """Settings under which both refuse all conversations, usually none (`[]`)."""


class LeftOutRendersDocument(JsonDocument, frozen=True):
    """Requests omitted to save time."""

    settings: tuple[SettingValues, ...]
    """Values of switches that were not tried, usually none (`[]`)."""
    pairs: Count
    """Pairs of values that were not tried, e.g. `0`."""
    renders: Count
    """Renders omitted because earlier ones ran into a limit, e.g. `0`."""


class AskedDocument(JsonDocument, frozen=True):
    """The range of the requests, and the omitted ones."""

    usual: SettingValues
    """Switches set in every render because the template raises without them; usually `{}`."""
    settings: tuple[SettingValues, ...]
    """Values of switches, each tried alone, e.g. `[{"enable_thinking": true}]`."""
    pairs: Count
    """Pairs of values of two switches tried together, e.g. `12`."""
    content: tuple[str, ...]
    """Kinds of content that at least one template renders, e.g. `["user content: a string"]`."""
    refused_by_both: RefusedDocument
    """The renders that have no text to compare, e.g. 262 of them."""
    left_out: LeftOutRendersDocument
    """The omitted renders, e.g. 0 of them."""
    bounds: AskedBounds
    """The largest requests that either template rendered, e.g. of 12 messages."""


class RoundTripsDocument(JsonDocument, frozen=True):
    """Turns in later prompts."""

    total: Count
    """Scenarios, with each next message's role, that apply to either template, e.g. `56`."""
    changed: tuple[TripChange, ...]
    """Those with another verdict, e.g. `"no reasoning"`, from `"header differs"` to `"holds"`."""


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
    if isinstance(comparison, FormatComparison):
        # Null, not left out: a reader of the JSON finds the same keys in every comparison.
        return _document(
            comparison, renders=None, asked=None, round_trips=None, findings=None, cache=None
        )
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
