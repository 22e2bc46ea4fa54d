"""Round trips as JSON; ``docs/roundtrip.schema.json`` is made of the classes here."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.document import Count, JsonDocument, SettingValues, json_of
from autoparser.analysis.describing.document import (
    CheckCounts,
    TemplateDocument,
    check_counts,
    named_template,
)
from autoparser.analysis.history.roundtrip import (
    VARIATIONS,
    Advice,
    Answers,
    ArgumentsAs,
    Cause,
    Difference,
    Engine,
    Ids,
    Kept,
    Next,
    Outcome,
    RoundTrip,
    Row,
    TokenVerdict,
    Verdict,
    advice_of,
    code_of,
    mending,
)
from autoparser.analysis.reading.parsing import Status

__all__ = ["RoundTripDocument", "roundtrip_document"]

_CauseCode = Annotated[str, Meta(extra_json_schema={"enum": [code_of(each) for each in Cause]})]
_Variation = Annotated[str, Meta(extra_json_schema={"enum": list(VARIATIONS)})]


class SplitStopDocument(JsonDocument, frozen=True):
    """A stop string that the tokenizer takes for several tokens."""

    text: str
    tokens: Count


class EngineDocument(JsonDocument, frozen=True):
    """What the engine makes of the parsed message."""

    arguments: ArgumentsAs
    ids: Ids
    malformed: Kept
    reasoning: Literal["verbatim", "stripped"]
    json: Literal["verbatim", "rewritten"]


class VerdictDocument(JsonDocument, frozen=True):
    """How a scenario goes under one setting of the switches."""

    setting: SettingValues
    string: Outcome
    """At string level."""
    tokens: TokenVerdict | None
    """At token level; null where there is no tokenizer or no next prompt."""
    cause: _CauseCode | None
    """Null where both levels hold."""
    difference: Difference | None
    reason: str
    """The template's words where it raises."""
    sampled: str
    """What the model wrote."""
    parsed: Status | None
    """How the parser read it."""


class RowDocument(JsonDocument, frozen=True):
    """A scenario with one next role."""

    scenario: str
    about: str
    variations: tuple[_Variation, ...]
    """How the text departs from what the format writes."""
    answers: Answers
    engine: EngineDocument
    next: Next
    verdict: VerdictDocument
    """Under the first setting to which it applies."""
    others: tuple[VerdictDocument, ...]
    """Under the further settings to which it applies."""
    mended_by: SettingValues | None
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

    schema: Literal["autoparser.roundtrip/1"]
    """Name and version; a change that is not a mere addition counts it up."""
    template: TemplateDocument
    check: CheckCounts
    """The self-check of the analysis; where it fails, so may the verdicts."""
    tokenizer: bool
    """Whether there was one; without it `tokens` is null everywhere."""
    split_stop_strings: tuple[SplitStopDocument, ...]
    """Stop strings that the tokenizer takes for several tokens: it may not be the model's."""
    settings: tuple[SettingValues, ...]
    """The settings of the switches that were tried, the usual one first."""
    untried_settings: Count
    scenarios: tuple[RowDocument, ...]
    """Each scenario with each next role, where it applies."""
    not_applicable: tuple[LeftOutDocument, ...]


def roundtrip_document(analysis: Analysis, found: RoundTrip) -> dict[str, Json]:
    """Return every verdict under every setting, with its conditions."""
    document = RoundTripDocument(
        "autoparser.roundtrip/1",
        named_template(analysis.template),
        check_counts(analysis.check),
        found.tokenized,
        tuple(SplitStopDocument(*each) for each in found.split_stops),
        tuple(found.settings),
        found.untried,
        tuple(map(_row, found.rows)),
        tuple(
            LeftOutDocument(scenario.name, coming, reason)
            for scenario, coming, reason in found.left_out
        ),
    )
    return json_of(document)


def _row(row: Row) -> RowDocument:
    scenario = row.scenario
    return RowDocument(
        scenario.name,
        scenario.about,
        scenario.variations,
        scenario.answers,
        _engine(scenario.engine),
        row.next,
        _verdict(row.verdict),
        tuple(map(_verdict, row.others)),
        None if row.verdict.holds else mending(row),
        tuple(advice_of(row)),
    )


def _engine(engine: Engine) -> EngineDocument:
    return EngineDocument(
        engine.arguments,
        engine.ids,
        engine.malformed,
        "stripped" if engine.strips_reasoning else "verbatim",
        "rewritten" if engine.rewrites_json else "verbatim",
    )


def _verdict(verdict: Verdict) -> VerdictDocument:
    return VerdictDocument(
        verdict.setting,
        verdict.outcome,
        verdict.tokens,
        None if verdict.cause is None else code_of(verdict.cause),
        verdict.difference,
        verdict.reason,
        verdict.sampled,
        verdict.status,
    )
