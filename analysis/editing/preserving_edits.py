"""The least change of a template under which every scenario holds that can.

Edits are tried one after the other, those first that lie near the place which wrote what departs
from the sampled text. One is taken if by it more steps hold, or go farther, if what held is
rendered to the same text, and if the proof of edits passes it: of what others than the model say
nothing changes. What is left at the end is played anew by a new analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse, product
from typing import NamedTuple

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.history.conversation_replay import Replay, ReplayStage
from autoparser.analysis.history.round_trips import (
    RoundTrip,
    changed_switches,
    round_trip,
    settings_of,
)
from autoparser.analysis.history.sampled_turns import NotWrittenError
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_causes import Cause, Culprit, cause_of, fault_of
from autoparser.analysis.history.trip_verdict import exchange_of
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.rule import FaultKind, MendedFault
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.template_edits import (
    TemplateEdit,
    apply_edits,
    changed_lines,
    default_edit,
    in_newlines,
    template_edits,
)

from .edit_proof import EditProof, ProvenEdit
from .tidied_edits import tidy_template

MOST_EDITS = 6
"""So many edits are put together."""
MOST_TRIED = 400
"""So many are tried for each of them."""
LIKENESSES = 3
"""So many steps stand for all that break by one cause while edits are tried."""

SAMPLED = (
    MendedFault(FaultKind.LEFT_OUT),
    MendedFault(FaultKind.REWRITTEN),
    MendedFault(FaultKind.NOT_BEGUN),
    MendedFault(FaultKind.CALL_LOST),
    MendedFault(FaultKind.UNCLOSED),
    MendedFault(FaultKind.OTHERWISE, "arguments in their other form"),
    *(
        MendedFault(kind, voice)
        for kind in (FaultKind.LOST, FaultKind.STRIPPED)
        for voice in (Voice.REASONING, Voice.ANSWER, Voice.PREFACE)
    ),
)
"""What may be mended here: what is wrong with what the model wrote, and with nothing else."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A step of a scenario under a setting, as the template plays it."""

    scenario: Scenario
    next: Next
    replay: Replay
    plain: str | None
    """What the format itself writes in the place of what was sampled."""


@dataclass(frozen=True, slots=True)
class LeftStep:
    """A step that breaks under the edited template, too."""

    scenario: Scenario
    next: Next
    cause: Cause
    fault: Culprit


@dataclass(frozen=True, slots=True)
class PreservingTemplate:
    """An edited template, what it fixes, and the proof that it changes nothing else."""

    template: ChatTemplate
    edits: tuple[TemplateEdit, ...]
    """Of whole lines; places are in the text of the original, each line ended by one newline."""
    fixed: tuple[tuple[Scenario, Next], ...]
    """Steps that broke and hold, as a new analysis of the edited template plays them."""
    left: tuple[LeftStep, ...]
    held_steps: int
    """Steps of scenarios, under every setting that may matter, rendered to the same text."""
    trial_count: int
    """Edits that were tried."""
    proof: ProvenEdit | None
    """None if nothing is edited."""


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
    search = _EditSearch(analysis, scenarios)
    return search.result(search.find_edits())


class _Gain(NamedTuple):
    """How far the steps go that are to be fixed; more is better."""

    holding: int
    missing: int
    """Minus the characters that no prompt has any more."""


class _EditSearch:
    """Looks for edits of one template."""

    def __init__(self, analysis: Analysis, scenarios: Sequence[Scenario]) -> None:
        self._analysis = analysis
        self._text = in_newlines(analysis.template.text)
        played = round_trip(analysis, scenarios)
        self._defaults = [*_defaults(played)]
        stage = ReplayStage(analysis)
        self._steps = [*_play_scenarios(stage, scenarios)]
        self._proof = EditProof(Subject(analysis.template, analysis=analysis), SAMPLED)
        usual = played.settings[0]
        self._usual = [step for step in self._steps if step.replay.exchange.setting == usual]
        self._broken = [
            (step, *_blame_step(stage, step)) for step in self._usual if not step.replay.holds
        ]
        self._stage = stage
        self._trial_count = 0

    def find_edits(self) -> tuple[TemplateEdit, ...]:
        """Return the edits that serve, none of which could be left out."""
        chosen: list[TemplateEdit] = []
        candidates = self._candidates()
        while len(chosen) < MOST_EDITS:
            targets = self._targets(chosen)
            before = self._gain(chosen, targets)
            if not targets or before is None:
                break
            gains = self._gains(chosen, candidates, targets, before)
            edit = next((gain for gain in gains if self._right([*chosen, gain])), None)
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
            self._trial_count += 1
            gain = self._gain([*chosen, edit], targets)
            if gain is not None and gain > before:
                measured.append((gain, edit))
        # A default leaves what a caller asks for as it is, so it comes before a shorter edit.
        measured.sort(
            key=lambda each: (-each[0].holding, each[1].end > 0, each[1].size, -each[0].missing)
        )
        return [edit for _, edit in measured]

    def _gain(self, edits: Sequence[TemplateEdit], targets: Sequence[PlayedStep]) -> _Gain | None:
        """Measure how far the steps go; return None if one cannot be rendered at all."""
        stage = self._edited(edits)
        holding = missing = 0
        for step in targets:
            try:
                other = stage.render_again(step.replay)
            except AutoparserError:
                return None
            if not other.prompt.text.endswith(step.replay.prompt.opening):
                return None
            holding += other.holds
            missing += 0 if other.at is None else len(other.whole) - other.at
        return _Gain(holding, -missing)

    def _right(self, edits: Sequence[TemplateEdit]) -> bool:
        """Whether what held is rendered to the same text, and nothing is changed but for better."""
        stage = self._edited(edits)
        replays = (step.replay for step in self._steps if step.replay.holds)
        if any(_texts(stage, replay) != (replay.text, replay.prompt.text) for replay in replays):
            return False
        proof = self._proof.proven(self._template(edits))
        return proof is not None and not proof.beyond

    def _needed(self, chosen: Sequence[TemplateEdit]) -> tuple[TemplateEdit, ...]:
        """Leave out each edit without which as many steps hold, and all is as right."""
        kept = [*chosen]
        for edit in chosen:
            fewer = [each for each in kept if each != edit]
            if self._holding_count(fewer) >= self._holding_count(kept) and self._right(fewer):
                kept = fewer
        return tuple(sorted(kept))

    def _holding_count(self, edits: Sequence[TemplateEdit]) -> int:
        stage = self._edited(edits)
        return sum(_holds(stage, step) for step, _, _ in self._broken)

    def _template(self, edits: Iterable[TemplateEdit]) -> ChatTemplate:
        return replace(self._analysis.rendering, text=apply_edits(self._text, edits))

    def _edited(self, edits: Iterable[TemplateEdit]) -> ReplayStage:
        return ReplayStage(self._analysis, self._template(edits))

    def result(self, edits: tuple[TemplateEdit, ...]) -> PreservingTemplate:
        """Write the edits as plainly as it goes, and play that anew, by an analysis of its own."""
        original = self._analysis.template
        text = tidy_template(self._text, edits, self).text
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
            sum(step.replay.holds for step in self._steps),
            self._trial_count,
            self._proof.proven(self._template(made)) if made else None,
        )

    def with_text(self, text: str) -> ChatTemplate:
        """Return the template with another text."""
        return replace(self._analysis.rendering, text=text)

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Return whether both render all steps and conversations to the same texts."""
        first, second = (ReplayStage(self._analysis, each) for each in (one, other))
        same = (_texts(first, step.replay) == _texts(second, step.replay) for step in self._steps)
        return all(same) and self._proof.alike(one, other)


def _play_scenarios(stage: ReplayStage, scenarios: Sequence[Scenario]) -> Iterator[PlayedStep]:
    """Play the scenarios under every setting that may matter."""
    for setting, scenario in product(settings_of(stage.analysis), scenarios):
        for coming in scenario.next:
            try:
                exchange, written = exchange_of(stage, scenario, coming, setting)
                yield PlayedStep(scenario, coming, stage.play(exchange), written.plain)
            except (NotWrittenError, TemplateRenderError):
                # What cannot be played is not said to hold.
                continue


def _texts(stage: ReplayStage, replay: Replay) -> tuple[str, str] | None:
    """Return the next prompt and the one of a step, or None if that one cannot be rendered."""
    try:
        other = stage.render_again(replay)
    except AutoparserError:
        return None
    return other.text, other.prompt.text


def _holds(stage: ReplayStage, step: PlayedStep) -> bool:
    try:
        return stage.render_again(step.replay).holds
    except AutoparserError:
        return False


def _blame_step(stage: ReplayStage, step: PlayedStep) -> tuple[Cause, Culprit]:
    cause = cause_of(stage, step.replay) or Cause.REWRITTEN
    return cause, fault_of(stage, step.replay, cause, step.plain) or Culprit.TEMPLATE


def _defaults(played_trip: RoundTrip) -> Iterator[TemplateEdit]:
    """Return an edit for every setting of a switch under which a row that breaks holds."""
    usual = played_trip.settings[0]
    seen: set[TemplateEdit] = set()
    for row in played_trip.rows:
        for other in row.others if not row.verdict.holds else ():
            setting = changed_switches(usual, other.setting)
            edit = default_edit(setting)
            if other.holds and edit not in seen and None not in setting.values():
                seen.add(edit)
                yield edit
