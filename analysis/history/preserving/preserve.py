"""The least change of a template under which every scenario holds that can.

Edits are tried one after the other, those first that lie near the place which wrote what departs
from the sampled text. One is taken if by it more steps hold, or go farther, and everything that
was right is rendered to the same text. What is left at the end is played anew by a new analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse
from typing import NamedTuple

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.history.roundtrip import (
    Cause,
    Culprit,
    Next,
    RoundTrip,
    Scenario,
    changed,
    round_trip,
)
from autoparser.analysis.history.roundtrip.causes import cause_of
from autoparser.analysis.history.roundtrip.fault import fault_of
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.loading.edits import (
    TemplateEdit,
    changed_lines,
    default_edit,
    edited,
    in_newlines,
    template_edits,
    tidied,
)
from autoparser.analysis.loading.template import ChatTemplate

from .rehearsal import PlayedStep, Rehearsal, rehearse

__all__ = ["LeftStep", "PreservationProof", "PreservingTemplate", "preserving_template"]

MOST_EDITS = 6
"""So many edits are put together."""
MOST_TRIED = 400
"""So many are tried for each of them."""
LIKENESSES = 3
"""So many steps stand for all that break by one cause while edits are tried."""


@dataclass(frozen=True, slots=True)
class LeftStep:
    """A step that breaks under the edited template, too."""

    scenario: Scenario
    next: Next
    cause: Cause
    fault: Culprit


@dataclass(frozen=True, slots=True)
class PreservationProof:
    """What was rendered by both templates."""

    steps: int
    """Steps of scenarios, under every setting that may matter, rendered to the same text."""
    conversations: int
    """Conversations of the battery, the same."""
    improved: int
    """Conversations of the battery in which more is right than before, and nothing less."""
    tried: int
    """Edits that were tried."""


@dataclass(frozen=True, slots=True)
class PreservingTemplate:
    """An edited template, what it fixes, and the proof that it changes nothing else."""

    template: ChatTemplate
    edits: tuple[TemplateEdit, ...]
    """Of whole lines; places are in the text of the original, each line ended by one newline."""
    fixed: tuple[tuple[Scenario, Next], ...]
    """Steps that broke and hold, as a new analysis of the edited template plays them."""
    left: tuple[LeftStep, ...]
    proof: PreservationProof


def preserving_template(analysis: Analysis, scenarios: Sequence[Scenario]) -> PreservingTemplate:
    """Return the template with the least change under which more scenarios hold.

    Without edits where nothing breaks, or where no edit serves. Raises AutoparserError for an
    encoder in Python, which has no text to edit.
    """
    source = analysis.template.source
    if source is not None and source.ran_code:
        raise AutoparserError(
            "an encoder in Python has no template that could be edited",
            file=analysis.template.origin,
            hint="export its prompts to a Jinja template first",
        )
    search = _EditSearch(rehearse(analysis, scenarios), round_trip(analysis, scenarios))
    return search.result(search.found())


class _Gain(NamedTuple):
    """How far the steps go that are to be fixed; more is better."""

    holding: int
    missing: int
    """Minus the characters that no prompt has any more."""


class _EditSearch:
    """Looks for edits of one template."""

    def __init__(self, rehearsal: Rehearsal, played: RoundTrip) -> None:
        self._rehearsal = rehearsal
        self._analysis = rehearsal.analysis
        self._text = in_newlines(self._analysis.template.text)
        self._defaults = [*_defaults(played)]
        usual = played.settings[0]
        stage = ReplayStage(self._analysis)
        self._usual = [step for step in rehearsal.steps if step.replay.exchange.setting == usual]
        self._broken = [
            (step, *_blamed(stage, step)) for step in self._usual if not step.replay.holds
        ]
        self._stage = stage
        self._tried = 0

    def found(self) -> tuple[TemplateEdit, ...]:
        """Return the edits that serve, none of which could be left out."""
        chosen: list[TemplateEdit] = []
        candidates = self._candidates()
        while len(chosen) < MOST_EDITS:
            targets = self._targets(chosen)
            before = self._gain(chosen, targets)
            if not targets or before is None:
                break
            gains = self._gains(chosen, candidates, targets, before)
            edit = next((each for each in gains if self._right([*chosen, each])), None)
            if edit is None:
                break
            chosen.append(edit)
            candidates = list(filterfalse(edit.overlaps, candidates))
        return self._needed(chosen)

    def _candidates(self) -> list[TemplateEdit]:
        """Return defaults of switches first, then edits by how near they are to what departs."""
        places = [*self._departures()]
        near = sorted(
            template_edits(self._text),
            key=lambda edit: min((abs(edit.start - place) for place in places), default=0),
        )
        return [*self._defaults, *near[:MOST_TRIED]]

    def _departures(self) -> Iterator[int]:
        """Return the places of the template that wrote what departs from the sampled text."""
        for step in self._targets(()):
            at = step.replay.at
            if at is not None:
                yield from self._stage.places_at(step.replay, at)

    def _targets(self, chosen: Sequence[TemplateEdit]) -> list[PlayedStep]:
        """Return some steps for each cause that break still, the model's faults aside."""
        stage = self._edited(chosen)
        counted: dict[Cause, int] = {}
        found: list[PlayedStep] = []
        for step, cause, fault in self._broken:
            if fault is Culprit.MODEL or counted.get(cause, 0) >= LIKENESSES or _holds(stage, step):
                continue
            counted[cause] = counted.get(cause, 0) + 1
            found.append(step)
        return found

    def _gains(
        self,
        chosen: Sequence[TemplateEdit],
        candidates: Sequence[TemplateEdit],
        targets: Sequence[PlayedStep],
        before: _Gain,
    ) -> list[TemplateEdit]:
        """Return the edits that fix something: those that fix most first, then the smallest."""
        measured: list[tuple[_Gain, TemplateEdit]] = []
        for edit in candidates:
            self._tried += 1
            gain = self._gain([*chosen, edit], targets)
            if gain is not None and gain > before:
                measured.append((gain, edit))
        # A default leaves what a caller asks for as it is, so it comes before a shorter edit.
        measured.sort(
            key=lambda each: (-each[0].holding, each[1].end > 0, each[1].size, -each[0].missing)
        )
        return [edit for _, edit in measured]

    def _gain(self, edits: Sequence[TemplateEdit], targets: Sequence[PlayedStep]) -> _Gain | None:
        """Measure how far the steps go; None where one cannot be rendered at all."""
        stage = self._edited(edits)
        holding = missing = 0
        for step in targets:
            try:
                other = stage.again(step.replay)
            except AutoparserError:
                return None
            if not other.prompt.text.endswith(step.replay.prompt.opening):
                return None
            holding += other.holds
            missing += 0 if other.at is None else len(other.whole) - other.at
        return _Gain(holding, -missing)

    def _right(self, edits: Sequence[TemplateEdit]) -> bool:
        """Whether all that was right is rendered to the same text."""
        return self._rehearsal.differing(self._template(edits)) is None

    def _needed(self, chosen: Sequence[TemplateEdit]) -> tuple[TemplateEdit, ...]:
        """Leave out each edit without which as many steps hold, and all is as right."""
        kept = [*chosen]
        for edit in chosen:
            fewer = [each for each in kept if each != edit]
            if self._held(fewer) >= self._held(kept) and self._right(fewer):
                kept = fewer
        return tuple(sorted(kept))

    def _held(self, edits: Sequence[TemplateEdit]) -> int:
        stage = self._edited(edits)
        return sum(_holds(stage, step) for step, _, _ in self._broken)

    def _template(self, edits: Iterable[TemplateEdit]) -> ChatTemplate:
        return replace(self._analysis.rendering, text=edited(self._text, edits))

    def _edited(self, edits: Iterable[TemplateEdit]) -> ReplayStage:
        return ReplayStage(self._analysis, self._template(edits))

    def result(self, edits: tuple[TemplateEdit, ...]) -> PreservingTemplate:
        """Write the edits as plainly as it goes, and play that anew, by an analysis of its own."""
        original = self._analysis.template
        text = tidied(self._text, edits, _RenderedAlike(self._rehearsal)).text
        made = changed_lines(self._text, text)
        if "\r\n" in original.text:
            text = text.replace("\n", "\r\n")
        template = replace(original, text=text) if made else original
        held: set[tuple[str, Next]] = set()
        if made:
            scenarios = [step.scenario for step in self._usual]
            unique = {scenario.name: scenario for scenario in scenarios}
            anew = round_trip(analyze(template), [*unique.values()], setting={})
            held = {(row.scenario.name, row.next) for row in anew.rows if row.verdict.holds}
        fixed = [step for step, _, _ in self._broken if (step.scenario.name, step.next) in held]
        left = (
            LeftStep(step.scenario, step.next, cause, fault)
            for step, cause, fault in self._broken
            if (step.scenario.name, step.next) not in held
        )
        return PreservingTemplate(
            template,
            made,
            tuple((step.scenario, step.next) for step in fixed),
            tuple(left),
            self._proof(self._template(made)),
        )

    def _proof(self, template: ChatTemplate) -> PreservationProof:
        conversations = self._rehearsal.conversations
        same = self._rehearsal.same(template)
        steps = sum(step.replay.holds for step in self._rehearsal.steps)
        return PreservationProof(steps, same, len(conversations) - same, self._tried)


class _RenderedAlike:
    """Judges by all that was rendered before the edits; each text is rendered once."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._known: dict[str, tuple[object, ...]] = {}

    def written(self, text: str) -> ChatTemplate:
        """Return the template with another text."""
        return replace(self._rehearsal.analysis.rendering, text=text)

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Say whether both render all steps and conversations to the same texts."""
        return self._all_of(one) == self._all_of(other)

    def _all_of(self, template: ChatTemplate) -> tuple[object, ...]:
        if template.text not in self._known:
            self._known[template.text] = tuple(self._rehearsal.rendered(template))
        return self._known[template.text]


def _holds(stage: ReplayStage, step: PlayedStep) -> bool:
    try:
        return stage.again(step.replay).holds
    except AutoparserError:
        return False


def _blamed(stage: ReplayStage, step: PlayedStep) -> tuple[Cause, Culprit]:
    cause = cause_of(stage, step.replay) or Cause.REWRITTEN
    return cause, fault_of(stage, step.replay, cause, step.plain) or Culprit.TEMPLATE


def _defaults(played: RoundTrip) -> Iterator[TemplateEdit]:
    """Return an edit for every setting of a switch under which a row that breaks holds."""
    usual = played.settings[0]
    seen: set[TemplateEdit] = set()
    for row in played.rows:
        for other in row.others if not row.verdict.holds else ():
            setting = changed(usual, other.setting)
            edit = default_edit(setting)
            if other.holds and edit not in seen and None not in setting.values():
                seen.add(edit)
                yield edit
