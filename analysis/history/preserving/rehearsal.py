"""What a template renders before it is edited, and which of it is right.

Contract: the template's own renders judge. A step of a scenario is right where the next prompt
begins with the last one and the sampled text; what is right has to be rendered to the same text by
an edited template. Of a conversation of the battery each turn is judged: whether it stands there as
it does while it is the last one, and which parts of its message it says. An edited template renders
it to the same text, or more of it is right and nothing less, and what others than the model say
stands there as often, with the same whitespace at its edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import NamedTuple

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.battery import CITY_TOOL, battery, battery_tools
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    User,
)
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.history.roundtrip import Next, Scenario, settings_of
from autoparser.analysis.history.roundtrip.remembering import PLAIN_IDS
from autoparser.analysis.history.roundtrip.replay import Exchange, Replay, ReplayStage
from autoparser.analysis.history.roundtrip.sampled import NotWrittenError
from autoparser.analysis.history.roundtrip.verdict import exchange_of
from autoparser.analysis.inference.probing import Prober, Setting, choose_sentinels
from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["PlayedStep", "Rehearsal", "RenderedConversation", "rehearse"]

SYSTEM = "\nYou are a helpful assistant. \n"
"""Padded, as no text of the model is: an edit must not reach it."""


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A step of a scenario under a setting, as the template plays it."""

    scenario: Scenario
    next: Next
    replay: Replay
    plain: str | None
    """What the format itself writes in the place of what was sampled."""


class TurnShown(NamedTuple):
    """What is right about a turn in a conversation."""

    kept: bool
    """It stands there as it does while it is the last one."""
    reasoning: bool
    content: bool
    calls: bool
    """These parts of the message are read from it as they were given."""


@dataclass(frozen=True, slots=True)
class RenderedConversation:
    """A conversation of the battery as a template renders it."""

    dialogue: Dialogue
    tools: bool
    generation: bool
    system: bool
    """Whether a system message comes first."""
    setting: Setting
    text: str | None = None
    """None where the template refuses it."""
    turns: tuple[TurnShown, ...] = ()
    others: tuple[int, ...] = ()
    """How often each text of the system, the user, the results and the tools stands there."""

    @property
    def right(self) -> bool:
        """Whether nothing could be better."""
        return self.text is None or all(all(turn) for turn in self.turns)

    def improves(self, other: RenderedConversation) -> bool:
        """Say whether more is right here than there, and nothing less."""
        if self.text is None or other.text is None:
            return False
        ours, theirs = [*chain(*self.turns)], [*chain(*other.turns)]
        return (
            ours != theirs
            and all(a >= b for a, b in zip(ours, theirs, strict=True))
            and self.others == other.others
        )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """All that a template renders before it is edited."""

    analysis: Analysis
    steps: tuple[PlayedStep, ...]
    conversations: tuple[RenderedConversation, ...]

    def differing(self, template: ChatTemplate) -> str | None:
        """Return what another template renders otherwise, and no better; None where nothing."""
        stage = ReplayStage(self.analysis, template)
        for step in self.steps:
            if step.replay.holds and not _alike(stage, step.replay):
                return f"{step.scenario.name}, next {step.next}"
        probers = _Probers(self.analysis, template)
        for each in self.conversations:
            if probers.text(each) != each.text and not probers.judged(each).improves(each):
                return "a conversation of the battery"
        return None

    def same(self, template: ChatTemplate) -> int:
        """Count the conversations of the battery that another template renders to the same text."""
        probers = _Probers(self.analysis, template)
        return sum(probers.text(each) == each.text for each in self.conversations)

    def rendered(self, template: ChatTemplate) -> Iterator[tuple[str, str] | str | None]:
        """Return all that another template renders of this; None where it fails."""
        stage = ReplayStage(self.analysis, template)
        yield from (_texts(stage, step.replay) for step in self.steps)
        probers = _Probers(self.analysis, template)
        yield from map(probers.text, self.conversations)


def _alike(stage: ReplayStage, replay: Replay) -> bool:
    return _texts(stage, replay) == (replay.text, replay.prompt.text)


def _texts(stage: ReplayStage, replay: Replay) -> tuple[str, str] | None:
    """Return the next prompt and the one of a step; None where that one cannot be rendered."""
    try:
        other = stage.again(replay)
    except AutoparserError:
        return None
    return other.text, other.prompt.text


def rehearse(analysis: Analysis, scenarios: Sequence[Scenario]) -> Rehearsal:
    """Play the scenarios and the battery under every setting that may matter."""
    settings = list(settings_of(analysis))
    stage = ReplayStage(analysis)
    steps = tuple(
        step
        for setting in settings
        for scenario in scenarios
        for coming in scenario.next
        for step in _played(stage, scenario, coming, setting)
    )
    probers = _Probers(analysis, analysis.rendering)
    conversations = tuple(
        probers.judged(RenderedConversation(dialogue, tools, generation, system, setting))
        for setting in settings
        for (dialogue, system), tools, generation in product(
            _conversations(system=analysis.shape.system), (True, False), (False, True)
        )
        if tools or not any(isinstance(entry, Message) and entry.calls for entry in dialogue)
    )
    return Rehearsal(analysis, steps, conversations)


def _played(
    stage: ReplayStage, scenario: Scenario, coming: Next, setting: Setting
) -> Iterator[PlayedStep]:
    try:
        exchange, written = exchange_of(stage, scenario, coming, setting)
        yield PlayedStep(scenario, coming, stage.play(exchange), written.plain)
    except (NotWrittenError, TemplateRenderError):
        return


def _conversations(*, system: bool) -> Iterator[tuple[Dialogue, bool]]:
    """Return all that is rendered, and whether a system message comes first."""
    yield from product(_dialogues(), (system,))
    yield from product(_padded_dialogues(), {system, True})


def _dialogues() -> Iterator[Dialogue]:
    """Return every message of the battery: last, answered, and before another turn."""
    for case in battery():
        asked = User("Please look into it.")
        answers = tuple(ToolResult("Found it.", call.name, call.id) for call in case.message.calls)
        yield (asked, case.message)
        later = (Message("All done.", "It is done."), User("Thanks. Anything else?"))
        yield (asked, case.message, *answers, *later)


def _padded_dialogues() -> Iterator[Dialogue]:
    """Return conversations whose texts show that what is for the model's reaches others', too."""
    asked = User("\n Please look into it. \n")
    yield (asked,)
    call = ToolCall(CITY_TOOL, {"city": "Oslo"}, PLAIN_IDS[0])
    for reply in (Message("It is done."), Message(calls=(call,))):
        results = tuple(ToolResult("\n Found it. \n", each.name, each.id) for each in reply.calls)
        yield (asked, reply, *results, Message("Yes."), User(" So?\n"))


class _Probers:
    """Renders conversations of the battery through one template."""

    def __init__(self, analysis: Analysis, template: ChatTemplate) -> None:
        self._stage = ReplayStage(analysis)
        self._shape = analysis.shape
        self._tools = battery_tools()
        prober = Prober(
            template,
            choose_sentinels(analysis.template.text),
            tokens={**template.special_tokens, **analysis.stand_ins},
            tools=self._tools,
            shape=analysis.shape,
        )
        self._prober = prober
        self._known: dict[str, tuple[bool, bool, bool]] = {}

    def judged(self, each: RenderedConversation) -> RenderedConversation:
        """Render a conversation through this template and judge every turn of it."""
        text = self.text(each)
        if text is None:
            return replace(each, text=None, turns=(), others=())
        others = tuple(text.count(said) for said in self._said_by_others(each))
        return replace(each, text=text, turns=tuple(self._turns(each, text)), others=others)

    def _said_by_others(self, each: RenderedConversation) -> Iterator[str]:
        """Return what the model does not say: as it is, and without the space at its edges."""
        said = [entry.text for entry in each.dialogue if isinstance(entry, User | ToolResult)] + [
            SYSTEM
        ] * each.system
        yield from chain(said, map(str.strip, said))
        yield from (f"{tool['description']}" for tool in self._tools if each.tools)

    def text(self, each: RenderedConversation) -> str | None:
        """Return the text of a conversation; None where the template refuses it."""
        return self._render(each, each.dialogue, generation=each.generation)

    def _render(
        self, each: RenderedConversation, dialogue: Dialogue, *, generation: bool
    ) -> str | None:
        shape = replace(self._shape, system=each.system)
        messages: list[Mapping[str, Json]] = [*shape.messages(dialogue, SYSTEM)]
        try:
            return self._prober.render_messages(
                messages, tools=each.tools, generation=generation, setting=each.setting
            )
        except TemplateRenderError:
            return None

    def _turns(self, each: RenderedConversation, text: str) -> Iterator[TurnShown]:
        for at, entry in enumerate(each.dialogue):
            if not isinstance(entry, Message):
                continue
            until = self._render(each, each.dialogue[: at + 1], generation=False)
            asked = self._render(each, each.dialogue[:at], generation=True)
            kept = until is not None and text.startswith(until.rstrip())
            if until is None:
                yield TurnShown(kept, reasoning=True, content=True, calls=True)
            elif asked is None or not until.startswith(asked):
                # What is no continuation of the prompt cannot be read; its words can be looked for.
                said = entry.reasoning in until, entry.content in until
                yield TurnShown(kept, *said, calls=True)
            else:
                yield TurnShown(kept, *self._said(each, at, until[len(asked) :]))

    def _said(self, each: RenderedConversation, at: int, sampled: str) -> tuple[bool, bool, bool]:
        """Say which parts of a message are read from its turn."""
        message = each.dialogue[at]
        key = repr((sampled, message, each.dialogue[:at], each.tools, dict(each.setting)))
        if key not in self._known and isinstance(message, Message):
            tools = tuple(self._tools) if each.tools else ()
            exchange = Exchange(
                each.setting, each.dialogue[:at], tools, sampled, cut=False, next=Next.USER
            )
            replay = self._stage.play(exchange)
            calls = [(call.name, dict(call.arguments)) for call in replay.kept.calls]
            self._known[key] = (
                (replay.parsed.reasoning_content or "") == message.reasoning,
                (replay.parsed.content or "") == message.content,
                calls == [(call.name, dict(call.arguments)) for call in message.calls],
            )
        return self._known[key]
