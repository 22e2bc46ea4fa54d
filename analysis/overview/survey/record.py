"""What a survey keeps of one template, as it stands in a line of its file."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from msgspec import Meta, Struct

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.errors import AutoparserError, TemplateNeededError
from autoparser.analysis.core.format import CallFormat, Slot
from autoparser.analysis.core.json_document import Count, Digest
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.describing.view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.history.roundtrip import code_of, round_trip, shipped_scenarios
from autoparser.analysis.learnt import (
    LearntFormat,
    is_saved_format,
    load_format,
    template_of_format,
)
from autoparser.analysis.lint import LintReport, Severity, Subject, lint
from autoparser.analysis.loading.sources import load_template
from autoparser.analysis.taught_analysis import with_saved

SURVEY: Literal["autoparser.survey/1"] = "autoparser.survey/1"
HOLDS = "holds"


class SurveyCheck(Struct, frozen=True):
    """The self-check in figures."""

    passed: Count
    total: Count
    equal: Count = 0
    refused: Count = 0
    crashed: Count = 0
    not_asked: Count = 0
    crash: str | None = None
    """The first crash on what agents send: its line, and what was raised."""
    spoiled: str | None = None
    """What users send and the template spoils in silence; null where nothing is."""


class Record(Struct, frozen=True):
    """One template: what it is like, or why it cannot be analysed."""

    schema: Literal["autoparser.survey/1"]
    """Name and version; a change that is more than an addition counts it up."""
    source: str
    """The file, as it was found below what was named."""
    sha256: Digest
    """Of the template's text; of its file where no text can be read from it; of the file of a saved
    format."""
    error: str | None
    """Why there is no analysis; all below is then empty."""
    reasoning: ReasoningMode | None
    content: ContentMode | None
    tools: ToolFormat | None
    call: str | None
    """One call as it is written, its slots by name in «»; templates that share it are a family."""
    switches: tuple[str, ...]
    """Names, sorted."""
    check: SurveyCheck
    round_trip: dict[str, Annotated[int, Meta(ge=1)]]
    """Verdicts counted: `holds`, and the codes of causes; empty for a saved format whose template
    is not there."""
    findings: dict[Severity, Count] | None = None
    """What lint found, counted by severity; null where it was not asked."""

    @classmethod
    def failed(cls, source: str, digest: str, error: str) -> Record:
        """Return the record of a template that cannot be analysed."""
        check = SurveyCheck(0, 0)
        return cls(SURVEY, source, digest, error, None, None, None, None, (), check, {})

    @property
    def ok(self) -> bool:
        """Whether it was analysed, and the whole self-check passes as users ask it."""
        passed = self.check.passed == self.check.total and self.check.spoiled is None
        return not self.error and passed

    @property
    def played(self) -> int:
        """Round trips that apply to it."""
        return sum(self.round_trip.values())

    @property
    def held(self) -> int:
        """Those that hold."""
        return self.round_trip.get(HOLDS, 0)


def record_of(source: str, digest: str, *, linted: bool = False) -> Record:
    """Look at one template, or saved format; whatever it does is a record."""
    try:
        learnt = surveyed_format(source)
        found = None
        if linted and isinstance(learnt, Analysis):
            found = lint(Subject(learnt.template, analysis=learnt))
        return recorded(source, digest, learnt, found)
    except AutoparserError as error:
        return Record.failed(source, digest, error.message)


def surveyed_format(source: str) -> LearntFormat:
    """Return what a saved format holds, with its template if that is there; else analyse it.

    Raises AutoparserError.
    """
    if not is_saved_format(source):
        return analyze(load_template(source))
    saved = load_format(source)
    try:
        template = template_of_format(saved)
    except TemplateNeededError:
        return saved
    return with_saved(analyze(template), saved)


def recorded(
    source: str, digest: str, learnt: LearntFormat, found: LintReport | None = None
) -> Record:
    """Return what is kept of an analysis, and of what lint found.

    Of a saved format without its template no round trip is played.
    """
    view, check, calls = learnt.view, learnt.check, learnt.formats.fullest.calls
    return Record(
        SURVEY,
        source,
        digest,
        None,
        view.reasoning,
        view.content,
        view.tools,
        None if calls is None else _call(calls),
        tuple(sorted(switch.name for switch in learnt.switches)),
        SurveyCheck(
            check.passed,
            check.total,
            check.equal,
            check.refused,
            check.crashed,
            check.not_asked,
            _crash(check),
            None if learnt.spoiled is None else learnt.spoiled.usual,
        ),
        _trips(learnt) if isinstance(learnt, Analysis) else {},
        None if found is None else _counted(found),
    )


def _trips(analysis: Analysis) -> dict[str, int]:
    """Count the verdicts of round trips.

    They are played in the template's usual setting alone: a corpus is compared by what templates do
    by themselves.
    """
    setting = analysis.formats.fullest.setting or None
    played = round_trip(analysis, shipped_scenarios(), setting=setting)
    causes = (row.verdict.cause for row in played.rows)
    counts = Counter(HOLDS if cause is None else code_of(cause) for cause in causes)
    return dict(sorted(counts.items()))


def _counted(found: LintReport) -> dict[Severity, int]:
    counts = Counter(finding.severity for finding in found.findings)
    return {severity: counts[severity] for severity in Severity}


def _crash(check: Check) -> str | None:
    crash = next((each for each in check.crashes if each.needed), None)
    if crash is None:
        return None
    return crash.reason if crash.line is None else f"line {crash.line}: {crash.reason}"


def _call(calls: CallFormat) -> str:
    """Write a call's row, its arguments by one of their entries where they are not JSON."""
    members = calls.arguments.members
    arguments = "«arguments»"
    if not (members.values or calls.arguments.values).is_json or members.values is not None:
        entry = "".join(f"«{p.value}»" if isinstance(p, Slot) else p for p in members.entry)
        arguments = f"{members.open}{entry}{members.close}"
    return "".join(
        (arguments if piece is Slot.ARGUMENTS else f"«{piece.value}»")
        if isinstance(piece, Slot)
        else piece
        for piece in calls.row
    )
