"""Round trips as JSON; ``docs/roundtrip.schema.json`` is made of the classes here."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    SettingValues,
    copy_fields,
    json_of,
)
from autoparser.analysis.core.provenance import TemplateDocument, named_template
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.formats.verdict_document import CheckCounts, check_counts
from autoparser.analysis.history.round_trips import (
    Advice,
    RoundTrip,
    Row,
    advice_of,
    code_of,
    fixing_setting,
)
from autoparser.analysis.history.scenarios import Answers, EngineHabits, Next
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.analysis.history.trip_verdict import Difference, Outcome, TokenVerdict, Verdict
from autoparser.analysis.history.turn_variations import VARIATIONS
from autoparser.analysis.parsing.parsed_message import Status

CauseCode = Annotated[str, Meta(extra_json_schema={"enum": [code_of(each) for each in Cause]})]
_Variation = Annotated[str, Meta(extra_json_schema={"enum": list(VARIATIONS)})]


class SplitStopDocument(JsonDocument, frozen=True):
    """A stop string that the tokenizer takes for several tokens."""

    text: str
    tokens: Count


class EngineNameDocument(JsonDocument, frozen=True):
    """An engine, and which of its versions is played."""

    name: str
    version: str


class VerdictDocument(JsonDocument, frozen=True):
    """How a scenario goes under one setting of the switches."""

    setting: SettingValues
    string: Outcome
    """At string level."""
    tokens: TokenVerdict | None
    """At token level; null where there is no tokenizer or no next prompt."""
    cause: CauseCode | None
    """Null where both levels hold."""
    fault: Culprit | None
    """Whose fault it is: the message in the history holds what was sampled and the template writes
    it otherwise; an engine that keeps all of it fixes it; or no message holds how the model wrote.
    Null where both levels hold."""
    difference: Difference | None
    reason: str
    """The template's words where it raises."""
    sampled: str
    """What the model wrote."""
    unconfirmed: str
    """Why the format wrote the turn, before its variations, and not the template itself after the
    prompt; empty where the template did."""
    parsed: Status | None
    """How the parser read it."""


class RowDocument(JsonDocument, frozen=True):
    """A scenario with one next role."""

    scenario: str
    about: str
    variations: tuple[_Variation, ...]
    """How the text departs from what the format writes."""
    answers: Answers
    engine: EngineHabits
    next: Next
    verdict: VerdictDocument
    """Under the first setting to which it applies."""
    others: tuple[VerdictDocument, ...]
    """Under the further settings to which it applies."""
    fixed_by: SettingValues | None
    """The least change of switches with which it holds; null where it holds already, or none was
    seen to."""
    advice: tuple[Advice, ...]


class LeftOutDocument(JsonDocument, frozen=True):
    """A scenario that does not apply."""

    scenario: str
    next: Next
    reason: str


class RoundTripDocument(JsonDocument, frozen=True):
    """Every verdict under every setting, with its conditions."""

    schema: Literal["autoparser.roundtrip/2"]
    """Name and version; a change that is more than an addition counts it up."""
    template: TemplateDocument
    check: CheckCounts
    """The self-check of the analysis; where it fails, so may the verdicts."""
    usual_form: AskedForm | None
    """What users send and the template spoils in silence, so that verdicts hold in another form
    alone; null where nothing is."""
    tokenizer: bool
    """Whether there was one; without it `tokens` is null everywhere."""
    split_stop_strings: tuple[SplitStopDocument, ...]
    """Stop strings that the tokenizer takes for several tokens: it may not be the model's."""
    engine: EngineNameDocument | None
    """The engine that was played; null where each scenario has habits of its own."""
    settings: tuple[SettingValues, ...]
    """The settings of the switches that were tried, the usual one first."""
    untried_settings: Count
    ended_renders: Count
    """Renders that a limit ended, of the analysis too: what they would have shown is missing."""
    scenarios: tuple[RowDocument, ...]
    """Each scenario with each next role, where it applies."""
    not_applicable: tuple[LeftOutDocument, ...]


def roundtrip_document(analysis: Analysis, round_trip: RoundTrip) -> dict[str, Json]:
    """Return every verdict under every setting, with its conditions."""
    document = RoundTripDocument(
        "autoparser.roundtrip/2",
        named_template(analysis.template),
        check_counts(analysis.check),
        analysis.spoiled,
        round_trip.tokenized,
        tuple(SplitStopDocument(*each) for each in round_trip.split_stops),
        None
        if round_trip.profile is None
        else EngineNameDocument(round_trip.profile.name, round_trip.profile.version),
        tuple(round_trip.settings),
        round_trip.untried,
        round_trip.beyond,
        tuple(map(_row, round_trip.rows)),
        tuple(
            LeftOutDocument(scenario.name, coming, reason)
            for scenario, coming, reason in round_trip.left_out
        ),
    )
    return json_of(document)


def _row(row: Row) -> RowDocument:
    return copy_fields(
        RowDocument,
        row.scenario,
        scenario=row.scenario.name,
        next=row.next,
        verdict=_verdict(row.verdict),
        others=tuple(map(_verdict, row.others)),
        fixed_by=None if row.verdict.holds else fixing_setting(row),
        advice=tuple(advice_of(row)),
    )


def _verdict(verdict: Verdict) -> VerdictDocument:
    return copy_fields(
        VerdictDocument,
        verdict,
        string=verdict.outcome,
        cause=None if verdict.cause is None else code_of(verdict.cause),
        parsed=verdict.status,
    )
