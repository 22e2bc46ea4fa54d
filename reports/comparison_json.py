"""A comparison as JSON; ``docs/compare.schema.json`` is made of the classes here."""

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
from autoparser.analysis.overview.comparison import Comparison, FindingChange, TripChange
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .places import template_place


class SideDocument(JsonDocument, frozen=True):
    """One of the two templates."""

    name: str | None
    origin: str | None
    sha256: Digest
    """Of the template's text."""
    check: CheckCounts


class ShareDocument(JsonDocument, frozen=True):
    """How many conversations were rendered, and how many of them differ."""

    total: Count
    differing: Count


class RendersDocument(JsonDocument, frozen=True):
    """What the renders say."""

    total: Count
    """Conversations that at least one of the two rendered with nothing set."""
    differing: Count
    """How many of those differ."""
    under_switches: ShareDocument
    """The same under a value of a switch, or two; those differ that differ in another way than with
    nothing set."""
    changed: tuple[RenderChange, ...]
    """The ways in which they differ: those with nothing set first, the frequent first. What shows
    with nothing set is not told again under a switch."""


class RefusedDocument(JsonDocument, frozen=True):
    """What both refuse; their words are not compared."""

    renders: Count
    conversations: tuple[str, ...]
    """Those that both refuse whatever is sent beside them."""
    settings: tuple[SettingValues, ...]
    """Those under which both refuse everything."""


class LeftOutRendersDocument(JsonDocument, frozen=True):
    """What was not asked for the sake of time."""

    settings: tuple[SettingValues, ...]
    pairs: Count
    renders: Count
    """Not asked since renders before them ran into a limit."""


class AskedDocument(JsonDocument, frozen=True):
    """What the renders were asked, and what they were not."""

    usual: SettingValues
    """What is set in every render: switches without which a template renders nothing."""
    settings: tuple[SettingValues, ...]
    """Values of switches, each played alone."""
    pairs: Count
    """Pairs of values of two switches that were played at once."""
    content: tuple[str, ...]
    """Kinds of content that were sent and that at least one of the two takes."""
    refused_by_both: RefusedDocument
    left_out: LeftOutRendersDocument
    bounds: AskedBounds
    """What the requests held at most that came out as a text, of either template."""


class RoundTripsDocument(JsonDocument, frozen=True):
    """What becomes of turns in later prompts."""

    total: Count
    """Scenarios, with whose message comes next, that apply to either."""
    changed: tuple[TripChange, ...]


class FindingChangeDocument(JsonDocument, frozen=True):
    """A finding that only one of the two has."""

    change: Literal["appeared", "vanished"]
    code: RuleCode
    severity: Severity
    message: str
    line: Positive | None
    """The line, from 1, of the template that has the finding."""
    column: Positive | None
    """Where the text of that line begins, from 1; null where there is no line."""


class ComparisonDocument(JsonDocument, frozen=True):
    """All that differs."""

    schema: Literal["autoparser.compare/2"]
    """Name and version; a change that is more than an addition counts it up."""
    equal: bool
    """Nothing that was looked at differs."""
    same_text: bool
    """The two templates are the same text."""
    left: SideDocument
    right: SideDocument
    format: tuple[FactChange, ...]
    """Facts of the format that differ, by aspects."""
    renders: RendersDocument | None
    """Null where one of the two is a saved format, as the three fields after it: nothing was
    rendered."""
    asked: AskedDocument | None
    round_trips: RoundTripsDocument | None
    findings: tuple[FindingChangeDocument, ...] | None
    """Findings of the rules that only one of the two has."""


def format_comparison_document(comparison: FormatComparison) -> dict[str, Json]:
    """Return all that differs in what was learned, nothing being rendered."""
    return _document(comparison, renders=None, asked=None, round_trips=None, findings=None)


def comparison_document(comparison: Comparison) -> dict[str, Json]:
    """Return all that differs."""
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
    )


def _document(comparison: Comparison | FormatComparison, **own: object) -> dict[str, Json]:
    left, right = (
        copy_fields(SideDocument, each.template, sha256=each.sha256, check=check_counts(each.check))
        for each in (comparison.left, comparison.right)
    )
    document = copy_fields(
        ComparisonDocument,
        comparison,
        schema="autoparser.compare/2",
        left=left,
        right=right,
        format=comparison.facts,
        **own,
    )
    return json_of(document)


def _finding_change(change: FindingChange, comparison: Comparison) -> FindingChangeDocument:
    finding = change.finding
    template = (comparison.right if change.appeared else comparison.left).template
    place = template_place(template, finding.line)
    return copy_fields(
        FindingChangeDocument,
        finding,
        change="appeared" if change.appeared else "vanished",
        column=None if place is None else place.column,
    )
