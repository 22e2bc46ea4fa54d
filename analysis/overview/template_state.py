"""Count the notations, losses and most frequent faults of many templates.

    count_state(records)  ->  TemplateState: 3 of 4 texts write calls, 2 crash on null content

Contract: everything is counted from records, by text: copies of a template are one. A claim is
counted by the codes of the rules that observe it, and only findings that the profile `release`
shows count as faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.formats.format_view import CallNotation
from autoparser.analysis.lint.hit import Severity

from .engine_readings import EngineReading, ParserChoice
from .survey import SurveyFinding, SurveyRecord, TriedFix, joined_texts


class StateClaim(StrEnum):
    """A claim about templates that a page counts."""

    ERRORS = "errors"
    """Lint finds an error."""
    CRASH = "crash"
    """It raises on a conversation that agents send."""
    NULL_CONTENT = "null content"
    """It raises where a message with calls has no content, or null."""
    TEXT_LOST = "text lost"
    """It drops the text of a message, other than a system message."""
    SYSTEM_LOST = "system message lost"
    """It drops a system message."""
    ARGUMENTS = "arguments"
    """It raises on arguments in OpenAI's form, drops them or encodes them twice."""
    SCHEMAS = "schemas"
    """It leaves out offered tools, or parts of their schemas."""
    REASONING_DROPPED = "reasoning dropped"
    """It drops the reasoning of earlier turns."""
    REWRITTEN = "rewritten"
    """It renders a sampled turn differently in the next prompt."""

    @property
    def calling(self) -> bool:
        """Whether only templates that write calls are asked."""
        return self in (StateClaim.NULL_CONTENT, StateClaim.ARGUMENTS, StateClaim.SCHEMAS)

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the rules that observe it; empty if it is counted otherwise."""
        return frozenset(_CODES.get(self, "").split())

    def holds(self, record: SurveyRecord) -> bool:
        """Return whether it is true of a template."""
        match self:
            case StateClaim.ERRORS:
                return any(row.severity is Severity.ERROR for row in record.found or ())
            case StateClaim.CRASH:
                return record.check.crash is not None
            case StateClaim.NULL_CONTENT:
                # The same rules also find renders that are wrong without an error.
                return any(row.raises for row in _matching_findings(record, self.codes))
            case StateClaim.TEXT_LOST | StateClaim.SYSTEM_LOST:
                return any(not row.raises for row in _matching_findings(record, self.codes))
            case StateClaim.REWRITTEN:
                return bool(record.blamed)
            case _:
                return bool(_matching_findings(record, self.codes))


_CODES = {
    StateClaim.NULL_CONTENT: "AP109 AP110",
    StateClaim.TEXT_LOST: "AP305 AP306 AP312 AP317 AP319 AP501 AP521",
    StateClaim.SYSTEM_LOST: "AP310 AP314",
    StateClaim.ARGUMENTS: "AP503 AP504 AP505",
    StateClaim.SCHEMAS: "AP502 AP530 AP534",
    # Many templates drop it on purpose, so that `release` does not show it.
    StateClaim.REASONING_DROPPED: "AP401 AP402 AP403",
}
_CONVENTIONS = frozenset({"AP401", "AP403", "AP504"})
"""Rules that count in a claim, although `release` takes them for conventions."""


def _matching_findings(record: SurveyRecord, codes: Collection[str]) -> list[SurveyFinding]:
    return [
        row
        for row in record.found or ()
        if row.code in codes and (row.shown or row.code in _CONVENTIONS)
    ]


@dataclass(frozen=True, slots=True)
class ClaimCount:
    """The number of templates of which a claim is true."""

    claim: StateClaim
    """The claim, such as `StateClaim.ERRORS`."""
    count: int
    """The number of templates of which it is true, such as `267`."""
    whole: int
    """The number of templates that were asked, such as `774`."""


@dataclass(frozen=True, slots=True)
class NotationCount:
    """The number of templates that write calls in one notation."""

    notation: CallNotation
    """The notation of calls, e.g. JSON between markers."""
    count: int
    """The number of templates that use it, such as `159`."""
    example: SurveyRecord
    """The template with the most frequent call in this notation, such as `"AvitoTech-avibe.jinja"`.
    """
    alike: int
    """The number of templates that write a call as it does, such as `113`."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A rule by which many templates have a fault."""

    code: str
    """The rule's code, e.g. `AP503`."""
    errors: int
    """The number of templates with an error, such as `3`."""
    warnings: int
    """The number of templates with a warning and no error, such as `104`."""
    example: SurveyRecord
    """A template with the fault: one whose fix is proven, if there is one among the tried."""
    finding: SurveyFinding
    """Its finding, such as `"content: null beside a call is rendered as None"` in line 101."""
    fix: TriedFix | None
    """The outcome of `fix`, or None if it was not tried."""
    tried: tuple[TriedFix, ...]
    """The outcomes for all templates on which `fix` was tried."""

    @property
    def count(self) -> int:
        """The number of templates."""
        return self.errors + self.warnings


@dataclass(frozen=True, slots=True)
class ReadingCount:
    """How one choice of an engine's parsers reads the templates that it was asked about."""

    engine: str
    """The engine and its version, e.g. `vllm 0.32.0`."""
    choice: ParserChoice
    """How its parsers are chosen, such as `"best"`."""
    readings: tuple[EngineReading, ...]
    """The readings, one for each template, such as one of 42 texts."""
    names: tuple[tuple[str, int], ...]
    """The tool-call parsers, and the number of templates for which each is chosen, such as
    `(("kimi_k2", 2), ("hermes", 1), …)`."""

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """The shares of texts read right, at once and streamed: of all, then of hostile ones."""
        texts = sum(row.texts for row in self.readings) or 1
        hostile = sum(row.hostile for row in self.readings) or 1
        return (
            sum(row.right for row in self.readings) / texts,
            sum(row.streamed for row in self.readings) / texts,
            sum(row.hostile_right for row in self.readings) / hostile,
            sum(row.hostile_streamed for row in self.readings) / hostile,
        )

    def reading(self, least: float) -> int:
        """Return the number of templates of which at least this share of texts is read right."""
        return sum(row.least >= least for row in self.readings)


@dataclass(frozen=True, slots=True)
class TemplateState:
    """The state of many templates."""

    texts: int
    """The number of distinct texts, such as `786`."""
    names: int
    """The number of templates that have them, such as `786`."""
    failed: tuple[SurveyRecord, ...]
    """The texts without an analysis, such as one with the error `"the template renders nothing"`.
    """
    checked: int
    """The number of texts whose whole self-check passes, such as `769`."""
    days: tuple[str, ...]
    """The first and the last day of the survey, such as `("2026-11-29",)`; once if they are the
    same."""
    versions: tuple[str, ...]
    """The versions of autoparser, such as `("0.1.0",)`."""
    linted: int
    """The number of texts that lint looked at, such as `774`."""
    calling: int
    """The number of texts that write calls, such as `388`."""
    reasoning: int
    """The number of texts that write reasoning, such as `284`."""
    claims: tuple[ClaimCount, ...]
    """The counts of all claims, such as `(ClaimCount(StateClaim.ERRORS, 267, 774), …)`."""
    notations: tuple[NotationCount, ...]
    """The most frequent first, such as `(NotationCount(CallNotation.JSON_IN_MARKERS, 159, …), …)`.
    """
    ways: int
    """The number of different calls, such as `54`."""
    trips: int
    """The number of round trips, such as `20663`."""
    trips_holding: int
    """The number of round trips that hold, such as `10698`."""
    trips_blamed: int
    """The number of round trips that break through the template's fault, such as `6383`."""
    causes: tuple[tuple[str, int], ...]
    """The causes of these, and the number of texts with each, such as
    `(("content-stripped", 222), ("reasoning-dropped", 204), …)`."""
    mistakes: tuple[Mistake, ...]
    """The most frequent first, such as `(Mistake("AP206", errors=3, warnings=104, …), …)`."""
    readings: tuple[ReadingCount, ...]
    """How engines read turns: one for each engine and choice of parsers, such as
    `llama.cpp 2026.10.11549` with its own."""
    asked: tuple[SurveyRecord, ...]
    """The texts of which engines read turns, such as `"AvitoTech-avibe.jinja"`."""
    asked_alike: int
    """The number of texts that write a call as one of these does, these among them, such as `14`.
    """


MISTAKES = 10
TRIED = 3
"""The number of templates on which `fix` is tried for a mistake."""


def distinct_texts(records: Iterable[SurveyRecord]) -> list[SurveyRecord]:
    """Return one record for each text, sorted by name."""
    # Sorted, so that a copied text is counted under the same name in every run.
    return [*joined_texts(sorted(records, key=lambda record: record.source)).values()]


def count_state(records: Sequence[SurveyRecord]) -> TemplateState:
    """Count everything that a page shows."""
    texts = distinct_texts(records)
    known = [record for record in texts if not record.error]
    linted = [record for record in known if record.found is not None]
    calling = [record for record in known if record.notation is not None]
    asked = [record for record in calling if any(row.texts for row in record.readings or ())]
    asked_calls = {record.call for record in asked}
    days = sorted({record.date for record in texts if record.date})
    return TemplateState(
        texts=len(texts),
        names=len({record.source for record in records}),
        failed=tuple(record for record in texts if record.error),
        checked=sum(record.check.passed == record.check.total for record in known),
        days=tuple(dict.fromkeys([*days[:1], *days[-1:]])),
        versions=tuple(sorted({record.version for record in texts if record.version})),
        linted=len(linted),
        calling=len(calling),
        reasoning=sum(record.reasoning != "NONE" for record in known),
        claims=tuple(_claim_count(claim, linted) for claim in StateClaim),
        notations=tuple(_notations(calling)),
        ways=len({record.call for record in calling}),
        trips=sum(record.trip_count for record in known),
        trips_holding=sum(record.trips_holding for record in known),
        trips_blamed=sum(sum((record.blamed or {}).values()) for record in known),
        causes=tuple(Counter(code for row in known for code in row.blamed or ()).most_common()),
        mistakes=tuple(_mistakes(linted)),
        readings=tuple(_readings(asked)),
        asked=tuple(asked),
        asked_alike=sum(record.call in asked_calls for record in calling),
    )


def _claim_count(claim: StateClaim, linted: Sequence[SurveyRecord]) -> ClaimCount:
    # A template that writes no calls cannot fail on them, and would make the share smaller.
    asked = [row for row in linted if row.notation is not None] if claim.calling else linted
    return ClaimCount(claim, sum(map(claim.holds, asked)), len(asked))


def _groups(
    records: Iterable[SurveyRecord], key: Callable[[SurveyRecord], str]
) -> list[list[SurveyRecord]]:
    """Group records, the largest group first, then by the first name."""
    groups: dict[str, list[SurveyRecord]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return sorted(groups.values(), key=lambda group: -len(group))


def _notations(calling: Sequence[SurveyRecord]) -> Iterator[NotationCount]:
    for group in _groups(calling, lambda record: record.notation or ""):
        alike = _groups(group, lambda record: record.call or "")[0]
        yield NotationCount(CallNotation(alike[0].notation or ""), len(group), alike[0], len(alike))


def _shown_faults(record: SurveyRecord) -> list[SurveyFinding]:
    """Return the findings that are faults."""
    return [row for row in record.found or () if row.shown and row.severity is not Severity.INFO]


def fault_examples(code: str, linted: Iterable[SurveyRecord]) -> list[SurveyRecord]:
    """Return the templates with this fault that show it best: those with the fewest others."""
    having = [row for row in linted if any(fault.code == code for fault in _shown_faults(row))]
    return sorted(having, key=lambda record: (len(_shown_faults(record)), record.source))[:TRIED]


def frequent_codes(linted: Iterable[SurveyRecord]) -> Iterator[tuple[str, int, int]]:
    """Yield the most frequent rules, with the number of templates with errors and warnings."""
    errors: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for record in linted:
        faults = _shown_faults(record)
        every.update({fault.code for fault in faults})
        errors.update({fault.code for fault in faults if fault.severity is Severity.ERROR})
    for code, count in sorted(every.items(), key=lambda row: (-row[1], row[0]))[:MISTAKES]:
        yield code, errors[code], count - errors[code]


def _mistakes(linted: Sequence[SurveyRecord]) -> Iterator[Mistake]:
    for code, errors, warnings in frequent_codes(linted):
        examples = fault_examples(code, linted)
        fixes = [_tried_fix(record, code) for record in examples]
        # A proven fix is more informative than a finding without one.
        proven = (at for at, fix in enumerate(fixes) if fix is not None and not fix.reason)
        chosen = next(proven, 0)
        finding = next(fault for fault in _shown_faults(examples[chosen]) if fault.code == code)
        tried = tuple(fix for fix in fixes if fix is not None)
        yield Mistake(code, errors, warnings, examples[chosen], finding, fixes[chosen], tried)


def _tried_fix(record: SurveyRecord, code: str) -> TriedFix | None:
    return next((fix for fix in record.fixes or () if fix.code == code), None)


def _readings(asked: Iterable[SurveyRecord]) -> Iterator[ReadingCount]:
    found: dict[tuple[str, ParserChoice], list[EngineReading]] = {}
    for record in asked:
        for row in record.readings or ():
            # Without texts there is no share, and a row of zeros would look like a failure.
            if not row.texts:
                continue
            found.setdefault((row.engine, row.choice), []).append(row)
    for (engine, choice), rows in sorted(found.items()):
        names = Counter(row.tool or "none" for row in rows)
        ranked = sorted(names.items(), key=lambda item: (-item[1], item[0]))
        yield ReadingCount(engine, choice, tuple(rows), tuple(ranked))
