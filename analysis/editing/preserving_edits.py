"""The smallest change of a template under which most scenarios of round trips hold.

Edits are tried in turn, first those near the place that wrote the first difference from the sampled
text. One is accepted if more steps hold, or get further, if steps that held render the same text,
and if the proof of edits passes: other speakers' text is unchanged. At the end, a new analysis
replays the remaining steps. For a template that writes earlier reasoning as an empty block, the
edit removes the condition on the last turn.

    >>> from autoparser.analysis.history.scenario_files import shipped_scenarios
    >>> source = (
    ...     "{% for m in messages %}<{{ m.role }}>{% if loop.last and m.reasoning_content %}"
    ...     "(r){{ m.reasoning_content }}(/r){% endif %}{{ m.content }}</s>{% endfor %}"
    ...     "{% if add_generation_prompt %}<assistant>{% endif %}"
    ... )
    >>> scenarios = [row for row in shipped_scenarios() if row.name == "reasoning + answer"]
    >>> found = preserving_template(analyze(source), scenarios)
    >>> [edit.text for edit in found.edits] == [source.replace("loop.last and ", "")]
    True
    >>> [(scenario.name, next_.value) for scenario, next_ in found.fixed]
    [('reasoning + answer', 'user')]
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
    trip_settings,
)
from autoparser.analysis.history.sampled_turns import NotWrittenError
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_causes import Cause, Culprit, break_cause, break_fault
from autoparser.analysis.history.trip_verdict import sample_exchange
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.rule import FaultKind, MendedFault
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.template_edits import (
    TemplateEdit,
    apply_edits,
    changed_lines,
    default_edit,
    in_line_ends,
    in_newlines,
    template_edits,
)

from .edit_proof import EditProof, ProvenEdit
from .tidied_edits import tidy_template

MOST_EDITS = 6
"""The maximum number of combined edits."""
MOST_TRIED = 400
"""The maximum number of tried edits for each of them."""
LIKENESSES = 3
"""The number of steps that represent all with one cause while edits are tried."""

SAMPLED = (
    MendedFault(FaultKind.LEFT_OUT),
    MendedFault(FaultKind.REWRITTEN),
    MendedFault(FaultKind.NOT_BEGUN),
    MendedFault(FaultKind.CALL_LOST),
    MendedFault(FaultKind.UNCLOSED),
    MendedFault(FaultKind.OTHERWISE, "the other type of arguments (string or object)"),
    *(
        MendedFault(kind, voice)
        for kind in (FaultKind.LOST, FaultKind.STRIPPED)
        for voice in (Voice.REASONING, Voice.ANSWER, Voice.PREFACE)
    ),
)
"""The faults that may be fixed here, all of them in the model's own text."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A step of a scenario under a setting, as the template renders it."""

    scenario: Scenario
    """The scenario, e.g. ``tool call + reasoning``."""
    next: Next
    """The message after the sampled turn: a user's or a tool's, e.g. ``Next.TOOL``."""
    replay: Replay
    """The sampled text and the next prompt, e.g. of ``What is the weather in Oslo?``."""
    plain: str | None
    """The format's own text for the sampled message, e.g. ``"The user wants the weather.</think>It
    is sunny in Oslo."``."""


@dataclass(frozen=True, slots=True)
class LeftStep:
    """A step that fails with the edited template, too."""

    scenario: Scenario
    """The scenario, e.g. ``arguments as string``."""
    next: Next
    """The message after the sampled turn, e.g. ``Next.USER``."""
    cause: Cause
    """The cause, e.g. rewritten text."""
    fault: Culprit
    """The party at fault, e.g. ``Culprit.TEMPLATE``: the template, the engine or the model."""


@dataclass(frozen=True, slots=True)
class PreservingTemplate:
    """An edited template with its fixed steps and its proof."""

    template: ChatTemplate
    """The edited template, e.g. one of 45 lines, or the original if nothing helps."""
    edits: tuple[TemplateEdit, ...]
    r"""Edits of whole lines of the original text, with single newlines as line ends, e.g.
    ``TemplateEdit(0, 0, "{% set clear_thinking = clear_thinking|default(false) %}\n")``."""
    fixed: tuple[tuple[Scenario, Next], ...]
    """The failing steps that hold in a new analysis of the edited template, e.g. ``answer`` before
    a user's message."""
    left: tuple[LeftStep, ...]
    """The failing steps that still fail, e.g. ``no reasoning`` before a user's message."""
    held_steps: int
    """The number of steps, under every relevant setting, that render the same text, e.g. 110."""
    trial_count: int
    """The number of tried edits, e.g. 107."""
    proof: ProvenEdit | None
    """The proof of the edits, e.g. one with 645 conversations, 45 of them changed, or None without
    edits."""


def preserving_template(analysis: Analysis, scenarios: Sequence[Scenario]) -> PreservingTemplate:
    """Return the template with the smallest change under which more scenarios hold.

    It has no edits if all scenarios hold, or if no edit helps. Raises AutoparserError for an
    encoder in Python, which has no text to edit.
    """
    source = analysis.template.source
    if source is not None and source.ran_code:
        raise AutoparserError(
            "an encoder in Python has no template to edit",
            file=analysis.template.origin,
            hint="export its prompts to a Jinja template first",
        )
    search = _EditSearch(analysis, scenarios)
    return search.result(search.find_edits())


class _Gain(NamedTuple):
    """The progress of the failing steps; more is better."""

    holding: int
    """The number of steps that hold, e.g. 3."""
    missing: int
    """Minus the number of sampled characters after the first difference, e.g. -1812."""


class _EditSearch:
    """Searches edits of one template."""

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
        """Return the edits that help, without unnecessary ones."""
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
        return self._needed_edits(chosen)

    def _candidates(self) -> list[TemplateEdit]:
        """Return the defaults of switches, then edits by distance to the differences."""
        places = [*self._departures()]
        # Edits near the place that wrote the difference are likely to help, and only so many are
        # tried.
        near = sorted(
            template_edits(self._text),
            key=lambda edit: min((abs(edit.start - place) for place in places), default=0),
        )
        return [*self._defaults, *near[:MOST_TRIED]]

    def _departures(self) -> Iterator[int]:
        """Yield the places of the template that wrote differences from the sampled text."""
        for step in self._targets(()):
            at = step.replay.at
            if at is not None:
                yield from self._stage.places_at(step.replay, at)

    def _targets(self, chosen: Sequence[TemplateEdit]) -> list[PlayedStep]:
        """Return some steps for each cause that still fail, except the model's own faults."""
        stage = self._edited_stage(chosen)
        counted: dict[Cause, int] = {}
        found: list[PlayedStep] = []
        for step, cause, fault in self._broken:
            # Steps with one cause usually break at one place, so a few represent all.
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
        """Return the edits with progress: the greatest first, then the smallest edit."""
        measured: list[tuple[_Gain, TemplateEdit]] = []
        for edit in candidates:
            self._trial_count += 1
            gain = self._gain([*chosen, edit], targets)
            if gain is not None and gain > before:
                measured.append((gain, edit))
        # A default respects the caller's own setting, so it comes before a shorter edit.
        measured.sort(
            key=lambda measure: (
                -measure[0].holding,
                measure[1].end > 0,
                measure[1].size,
                -measure[0].missing,
            )
        )
        return [edit for _, edit in measured]

    def _gain(self, edits: Sequence[TemplateEdit], targets: Sequence[PlayedStep]) -> _Gain | None:
        """Return the progress of the steps, or None if one cannot be rendered."""
        stage = self._edited_stage(edits)
        holding = missing = 0
        for step in targets:
            try:
                other = stage.render_again(step.replay)
            except AutoparserError:
                return None
            # With another opening, the model would write another turn than the sampled one.
            if not other.prompt.text.endswith(step.replay.prompt.opening):
                return None
            holding += other.holds
            missing += 0 if other.at is None else len(other.whole) - other.at
        return _Gain(holding, -missing)

    def _right(self, edits: Sequence[TemplateEdit]) -> bool:
        """Return whether steps that held render the same text, and the proof of edits passes."""
        stage = self._edited_stage(edits)
        replays = (step.replay for step in self._steps if step.replay.holds)
        if any(
            _rendered_texts(stage, replay) != (replay.text, replay.prompt.text)
            for replay in replays
        ):
            return False
        proof = self._proof.prove_edits(self._template(edits))
        # Round trips are about the model's text: an edit that also fixes another speaker's goes too
        # far.
        return proof is not None and not proof.beyond

    def _needed_edits(self, chosen: Sequence[TemplateEdit]) -> tuple[TemplateEdit, ...]:
        """Return the edits without the unnecessary ones."""
        kept = [*chosen]
        for edit in chosen:
            # A later edit may make an earlier one unnecessary.
            fewer = [other for other in kept if other != edit]
            if self._holding_count(fewer) >= self._holding_count(kept) and self._right(fewer):
                kept = fewer
        return tuple(sorted(kept))

    def _holding_count(self, edits: Sequence[TemplateEdit]) -> int:
        stage = self._edited_stage(edits)
        return sum(_holds(stage, step) for step, _, _ in self._broken)

    def _template(self, edits: Iterable[TemplateEdit]) -> ChatTemplate:
        return replace(self._analysis.rendering, text=apply_edits(self._text, edits))

    def _edited_stage(self, edits: Iterable[TemplateEdit]) -> ReplayStage:
        return ReplayStage(self._analysis, self._template(edits))

    def result(self, edits: tuple[TemplateEdit, ...]) -> PreservingTemplate:
        """Return the result: the edits in their simplest form, replayed by a new analysis."""
        original = self._analysis.template
        # Tidied before the new analysis, so that it judges the text that is returned.
        text = tidy_template(self._text, edits, self).text
        made = changed_lines(self._text, text)
        text = in_line_ends(text, original.text)
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
            self._proof.prove_edits(self._template(made)) if made else None,
        )

    def with_text(self, text: str) -> ChatTemplate:
        """Return the template with another text."""
        return replace(self._analysis.rendering, text=text)

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Return whether both render all steps and conversations to the same texts."""
        first, second = (ReplayStage(self._analysis, template) for template in (one, other))
        same = (
            _rendered_texts(first, step.replay) == _rendered_texts(second, step.replay)
            for step in self._steps
        )
        return all(same) and self._proof.alike(one, other)


def _play_scenarios(stage: ReplayStage, scenarios: Sequence[Scenario]) -> Iterator[PlayedStep]:
    """Yield the steps of the scenarios under every relevant setting."""
    for setting, scenario in product(trip_settings(stage.analysis), scenarios):
        for coming in scenario.next:
            try:
                exchange, written = sample_exchange(stage, scenario, coming, setting)
                yield PlayedStep(scenario, coming, stage.play(exchange), written.plain)
            except (NotWrittenError, TemplateRenderError):
                # A step that cannot be replayed does not count as holding.
                continue


def _rendered_texts(stage: ReplayStage, replay: Replay) -> tuple[str, str] | None:
    """Return a step's next prompt and its own, or None if it cannot be rendered."""
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
    cause = break_cause(stage, step.replay) or Cause.REWRITTEN
    return cause, break_fault(stage, step.replay, cause, step.plain) or Culprit.TEMPLATE


def _defaults(played_trip: RoundTrip) -> Iterator[TemplateEdit]:
    """Yield an edit for every switch setting under which a failing row holds."""
    usual = played_trip.settings[0]
    seen: set[TemplateEdit] = set()
    for row in played_trip.rows:
        for other in row.others if not row.verdict.holds else ():
            setting = changed_switches(usual, other.setting)
            edit = default_edit(setting)
            # None unsets a switch that the template needs, so there is no default to insert.
            if other.holds and edit not in seen and None not in setting.values():
                seen.add(edit)
                yield edit
