"""Two analyses side by side: format, renders, round trips, self-checks, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.portrait import Remark
from autoparser.analysis.roundtrip import Next, Row, Scenario, round_trip, shipped_scenarios

from .facts import FactChange, changed_facts
from .renders import RenderChange, changed_renders


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
class RemarkChange:
    """A finding of lint that only one of the two has."""

    remark: Remark
    appeared: bool
    """It is the second's; else it has vanished with the first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs."""

    left: Analysis
    right: Analysis
    facts: tuple[FactChange, ...]
    renders: tuple[RenderChange, ...]
    rendered: int
    """Conversations that were rendered."""
    trips: tuple[TripChange, ...]
    played: int
    """Scenarios, with whose message comes next, that apply to either."""
    remarks: tuple[RemarkChange, ...] | None
    """None where lint did not look."""

    @property
    def same_text(self) -> bool:
        """Whether the two are the same text."""
        return self.left.template.text == self.right.template.text

    @property
    def same_check(self) -> bool:
        """Whether the self-checks come out alike."""
        left, right = self.left.check, self.right.check
        return (left.passed, left.refused, left.crashed) == (
            right.passed,
            right.refused,
            right.crashed,
        )

    @property
    def equal(self) -> bool:
        """Whether nothing that was looked at differs."""
        changes = (*self.facts, *self.renders, *self.trips, *(self.remarks or ()))
        return not changes and self.same_check


def compare(
    left: Analysis,
    right: Analysis,
    *,
    left_remarks: Sequence[Remark] | None = None,
    right_remarks: Sequence[Remark] | None = None,
) -> Comparison:
    """Compare what two templates do; give lint's findings on both, or on neither."""
    renders, rendered = changed_renders(left, right)
    trips, played = _changed_trips(left, right)
    remarks = None
    if left_remarks is not None and right_remarks is not None:
        remarks = _changed_remarks(left_remarks, right_remarks)
    return Comparison(
        left, right, changed_facts(left, right), renders, rendered, trips, played, remarks
    )


_Played = dict[tuple[str, Next], str]
_ABSENT = "does not apply"


def _changed_trips(left: Analysis, right: Analysis) -> tuple[tuple[TripChange, ...], int]:
    scenarios = shipped_scenarios()
    ours, theirs = _verdicts(left, scenarios), _verdicts(right, scenarios)
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


def _verdicts(analysis: Analysis, scenarios: Sequence[Scenario]) -> _Played:
    # Only the usual setting of the switches counts here: what others change is among the facts.
    played = round_trip(analysis, scenarios, setting=analysis.format.setting or None)
    return {(row.scenario.name, row.next): _verdict(row) for row in played.rows}


def _verdict(row: Row) -> str:
    verdict = row.verdict
    return "holds" if verdict.cause is None else verdict.cause.value


def _changed_remarks(left: Sequence[Remark], right: Sequence[Remark]) -> tuple[RemarkChange, ...]:
    ours = Counter((each.code, each.message) for each in left)
    theirs = Counter((each.code, each.message) for each in right)
    gone, come = ours - theirs, theirs - ours
    changes = [
        *(RemarkChange(each, appeared=False) for each in left if _taken(gone, each)),
        *(RemarkChange(each, appeared=True) for each in right if _taken(come, each)),
    ]
    return tuple(sorted(changes, key=lambda change: change.remark.code))


def _taken(left: Counter[tuple[str, str]], remark: Remark) -> bool:
    """Take one of these remarks away, if any is left."""
    key = (remark.code, remark.message)
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
