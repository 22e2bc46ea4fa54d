"""Play every shipped round-trip scenario on every corpus template that can be analyzed.

No template of the corpus comes with its vocabulary, so texts are compared, not tokens: with default
settings, and with other settings of relevant switches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser import AutoparserError, Message, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome

from .corpus_templates import Board, analysis_at

NAMED = 8
"""How many templates are named for a cause that explains nothing."""


@dataclass(frozen=True, slots=True)
class Played:
    name: str
    checked: bool = True
    causes: tuple[str, ...] = ()
    """For each scenario with a next role: the cause, or the outcome without one."""
    unconfirmed: tuple[str, ...] = ()
    """Of each verdict, why the format wrote the turn; empty where the template did."""
    images: tuple[bool, ...] = ()
    """Whether each of the scenarios with images, videos and sounds holds that apply."""
    fixed: int = 0
    """Verdicts that another setting of the switches fixes."""
    crash: str = ""


def played(path: Path) -> Played | None:
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    try:
        found = round_trip(analysis, shipped_scenarios())
    except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
        return Played(path.stem, not analysis.check.failures, crash=repr(error))
    return Played(
        path.stem,
        not analysis.check.failures,
        tuple(str(row.verdict.cause or row.verdict.outcome) for row in found.rows),
        tuple(row.verdict.unconfirmed for row in found.rows),
        tuple(
            row.verdict.holds
            for row in found.rows
            if any(not isinstance(entry, Message) and entry.media for entry in row.scenario.history)
        ),
        sum(
            not row.verdict.holds and any(other.holds for other in row.others) for row in found.rows
        ),
    )


def _lines(found: Sequence[Played]) -> Iterator[str]:
    crashed = [trip for trip in found if trip.crash]
    verdicts = [cause for trip in found for cause in trip.causes]
    counts = Counter(verdicts)
    yield f"{len(found):>6}  templates played, {sum(trip.checked for trip in found)} self-checked"
    yield f"{len(verdicts):>6}  verdicts, each of a scenario with a next role"
    for outcome in (str(Outcome.HOLDS), *map(str, Cause)):
        if counts[outcome]:
            templates = sum(outcome in trip.causes for trip in found)
            yield f"{counts[outcome]:>6}  {outcome}, in {templates} templates"
    broken = len(verdicts) - counts[str(Outcome.HOLDS)]
    fixed = sum(trip.fixed for trip in found)
    yield f"{fixed:>6}  of the {broken} that break hold under another setting of the switches"
    yield from _named(found, str(Cause.REWRITTEN))
    reasons = Counter(why.partition(":")[0] for trip in found for why in trip.unconfirmed)
    yield f"{reasons.pop('', 0):>6}  turns that the template itself wrote, before they were varied"
    for why, count in reasons.most_common():
        yield f"{count:>6}  that the format wrote: {why}"
    pictured = [trip.images for trip in found if trip.images]
    holding, played_ = sum(map(sum, pictured)), sum(map(len, pictured))
    yield f"{played_:>6}  verdicts with media, in {len(pictured)} templates; {holding} hold"
    yield f"{len(crashed):>6}  crashed"
    yield from (f"{'':8}  {row.name}: {row.crash}" for row in crashed)


def _named(found: Sequence[Played], cause: str) -> Iterator[str]:
    """Name the templates with most of the verdicts that no change explains."""
    counts = Counter({trip.name: trip.causes.count(cause) for trip in found})
    for name, count in counts.most_common(NAMED):
        if count:
            yield f"{'':8}  {cause}: {name} ({count})"


ROUND_TRIPS = Board(played, _lines, lambda row: not row.crash, chunk=16)
