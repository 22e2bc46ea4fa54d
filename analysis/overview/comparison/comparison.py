"""Two analyses side by side: format, renders, round trips, self-checks, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.describing.document import check_counts
from autoparser.analysis.history.roundtrip import Next, Row, Scenario, round_trip, shipped_scenarios
from autoparser.analysis.inference.probing import Setting
from autoparser.analysis.lint import LintFinding, Subject, lint

from .asked_renders import AskedRenders, changed_renders
from .facts import FactChange, changed_facts
from .grouping import RenderChange


@dataclass(frozen=True, slots=True)
class TripChange:
    """A scenario whose verdict differs."""

    scenario: str
    next: str
    """Whose message comes next."""
    left: str
    """`holds`, the cause why it does not, or that it does not apply."""
    right: str


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of lint that only one of the two has."""

    finding: LintFinding
    appeared: bool
    """It is the second's; else it has vanished with the first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs."""

    left: Analysis
    right: Analysis
    facts: tuple[FactChange, ...]
    renders: tuple[RenderChange, ...]
    """The ways in which renders part."""
    asked: AskedRenders
    """What was rendered, and what was not."""
    trips: tuple[TripChange, ...]
    played: int
    """Scenarios, with whose message comes next, that apply to either."""
    findings: tuple[FindingChange, ...]

    @property
    def same_text(self) -> bool:
        """Whether the two are the same text."""
        return self.left.template.text == self.right.template.text

    @property
    def same_check(self) -> bool:
        """Whether the self-checks come out alike."""
        return check_counts(self.left.check) == check_counts(self.right.check)

    @property
    def equal(self) -> bool:
        """Whether nothing that was looked at differs."""
        changes = (*self.facts, *self.renders, *self.trips, *self.findings)
        return not changes and self.same_check


def compare(left: Analysis, right: Analysis, setting: Setting | None = None) -> Comparison:
    """Compare what two templates do.

    What `setting` sets is set in every render and round trip. Formats, self-checks and findings are
    those of the templates under all of their settings.
    """
    renders, asked = changed_renders(left, right, setting)
    trips, played = _changed_trips(left, right, setting or {})
    return Comparison(
        left,
        right,
        changed_facts(left, right),
        renders,
        asked,
        trips,
        played,
        _changed_findings(_findings(left), _findings(right)),
    )


_Played = dict[tuple[str, Next], str]
_ABSENT = "does not apply"


def _changed_trips(
    left: Analysis, right: Analysis, setting: Setting
) -> tuple[tuple[TripChange, ...], int]:
    scenarios = shipped_scenarios()
    ours, theirs = (_verdicts(each, scenarios, setting) for each in (left, right))
    names = dict.fromkeys([*ours, *theirs])
    order = [scenario.name for scenario in scenarios]
    changes = [
        TripChange(
            name,
            coming.value,
            ours.get((name, coming), _ABSENT),
            theirs.get((name, coming), _ABSENT),
        )
        for name, coming in names
        if ours.get((name, coming)) != theirs.get((name, coming))
    ]
    return tuple(sorted(changes, key=lambda each: order.index(each.scenario))), len(names)


def _verdicts(analysis: Analysis, scenarios: Sequence[Scenario], setting: Setting) -> _Played:
    # Only the usual setting of the switches counts here: what others change is among the facts.
    usual = {**analysis.formats.fullest.setting, **setting}
    played = round_trip(analysis, scenarios, setting=usual or None)
    return {(row.scenario.name, row.next): _verdict(row) for row in played.rows}


def _verdict(row: Row) -> str:
    verdict = row.verdict
    return "holds" if verdict.cause is None else verdict.cause.value


def _findings(analysis: Analysis) -> Sequence[LintFinding]:
    return lint(Subject(analysis.template, analysis=analysis)).findings


def _changed_findings(
    left: Sequence[LintFinding], right: Sequence[LintFinding]
) -> tuple[FindingChange, ...]:
    ours, theirs = Counter(map(_identity, left)), Counter(map(_identity, right))
    gone, come = ours - theirs, theirs - ours
    changes = [
        *(FindingChange(each, appeared=False) for each in left if _taken(gone, each)),
        *(FindingChange(each, appeared=True) for each in right if _taken(come, each)),
    ]
    return tuple(sorted(changes, key=lambda change: change.finding.code))


_Identity = tuple[str, str, str]


def _identity(finding: LintFinding) -> _Identity:
    """Return what makes two findings the same one, whatever words an exception has."""
    return finding.code, finding.severity.value, finding.message_without_reasons


def _taken(left: Counter[_Identity], finding: LintFinding) -> bool:
    """Take one of these findings away, if any is left."""
    key = _identity(finding)
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
