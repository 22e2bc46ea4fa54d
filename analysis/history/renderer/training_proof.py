"""The proof of a training template: it renders the same texts, and marks what the model writes.

Both templates render every message of the battery, alone, between others and again after the
results of its calls. Another text is an error; a turn in which the markers are not the loss mask of
the renderer is a deviation, which has a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.battery import battery, battery_tools
from autoparser.analysis.core.conversation import Dialogue, Message as Turn, ToolResult, User
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.inference.probing import choose_sentinels, offered
from autoparser.analysis.loading.template import ChatTemplate

from .attribution import Attributed, attribute
from .generation_ranges import generation_ranges
from .history_renders import HistoryRenders, Messages, prepared
from .leaves import fields_of
from .shares import Joints


class TrainingTemplateError(AutoparserError):
    """A template with generation markers cannot be written, or is not the same template."""


@dataclass(frozen=True, slots=True)
class MismarkedTurn:
    """A turn in which what is marked is not what the renderer says is sampled."""

    conversation: tuple[str, ...]
    """The roles of its messages."""
    message: int
    turn: str
    """The parts of the turn; empty where the message is not an assistant's."""
    left_out: tuple[str, ...]
    """What the model writes, unmarked."""
    marked_too: tuple[str, ...]
    """What the model does not write, marked."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was rendered by both templates."""

    conversations: int
    """Rendered to the same text by both, or refused by both."""
    refused: int
    masked: int
    """Conversations in which what is marked is also what the renderer says is sampled."""
    deviations: tuple[MismarkedTurn, ...]
    """One for each kind of turn in each kind of conversation, in which that is not so."""

    @property
    def passed(self) -> bool:
        """Whether both render, and the markers are the renderer's loss mask wherever they do."""
        return self.masked == self.conversations - self.refused > 0


def proved(
    analysis: Analysis, patched: ChatTemplate, *, briefly: bool = False, written: bool = False
) -> Proof:
    """Render the battery by both. Raises TrainingTemplateError where a text differs.

    `briefly` takes one message of each kind of turn, without a generation prompt; `written` leaves
    out conversations of which the template writes no word of some message's calls.
    """
    asked = _AskedTurns(analysis)
    renders = asked.renders
    # One clock for both, so that no second lies between them.
    others = HistoryRenders(patched, renders.tools, renders.switches, renders.clock)
    conversations = refused = masked = 0
    deviations: dict[tuple[object, ...], MismarkedTurn] = {}
    for dialogue, generation in asked.conversations(briefly=briefly, written=written):
        messages = asked.messages(dialogue)
        text = renders.attempt(messages, generation=generation)
        other = others.attempt(messages, generation=generation)
        if text != other:
            raise TrainingTemplateError(
                "with generation markers it does not render the same text",
                file=analysis.template.origin,
                hint="use the loss mask of autoparser's renderer instead",
            )
        conversations += 1
        if text is None:
            refused += 1
            continue
        whole = asked.attributed(messages, text, generation=generation)
        marked = _marked(others, messages, text, generation=generation)
        found = list(_deviations(whole, marked, dialogue, messages))
        masked += not found
        for each in found:
            deviations.setdefault((each.conversation, each.message, each.turn), each)
    return Proof(conversations, refused, masked, tuple(deviations.values()))


class _AskedTurns:
    """Conversations of the battery, as one template is asked for them."""

    def __init__(self, analysis: Analysis) -> None:
        self._shape = analysis.shape
        self._calls = analysis.formats.united.calls is not None
        tools = offered(battery_tools(), analysis.shape)
        self.renders = HistoryRenders.of(analysis.template, tools, {})
        self._joints = Joints(analysis.formats.united)
        self._fields = fields_of(analysis.shape)
        self._system = choose_sentinels(analysis.template.text).system

    def messages(self, dialogue: Dialogue) -> Messages:
        return prepared(self._shape.messages(dialogue, self._system))

    def conversations(self, *, briefly: bool, written: bool) -> Iterator[tuple[Dialogue, bool]]:
        """Return the conversations, each with whether a generation prompt follows."""
        for dialogue, generation in _asked(briefly=briefly):
            said = self._calls or not any(isinstance(it, Turn) and it.calls for it in dialogue)
            if said or not written:
                yield dialogue, generation

    def attributed(self, messages: Messages, text: str, *, generation: bool) -> Attributed:
        """Say whose each character of a render is."""
        return attribute(
            self.renders,
            messages,
            self._joints,
            generation=generation,
            reasoning_fields=self._fields,
            text=text,
        )


@dataclass(frozen=True, slots=True)
class AttributedTurns:
    """A conversation of the proof, and whose each character of its text is."""

    variables: Mapping[str, object]
    """What it is rendered with."""
    roles: tuple[object, ...]
    whole: Attributed


def attributed_turns(analysis: Analysis) -> Iterator[AttributedTurns]:
    """Return one conversation of each kind that the template takes, and writes every word of."""
    asked = _AskedTurns(analysis)
    for dialogue, _ in asked.conversations(briefly=True, written=True):
        messages = asked.messages(dialogue)
        text = asked.renders.attempt(messages)
        if text is not None:
            whole = asked.attributed(messages, text, generation=False)
            roles = tuple(message.get("role") for message in messages)
            yield AttributedTurns(asked.renders.variables(messages, False), roles, whole)


def _marked(
    others: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]]:
    """Return what generation blocks hold; nothing where nobody can tell."""
    try:
        marked = generation_ranges(others, messages, text, generation=generation)
    except TemplateRenderError:
        return []
    return _joined(marked or [])


def _deviations(
    whole: Attributed, marked: Sequence[tuple[int, int]], dialogue: Dialogue, messages: Messages
) -> Iterator[MismarkedTurn]:
    """Return the turns of a conversation that are marked otherwise than they are sampled."""
    sampled = _joined((each.start, each.end) for each in whole.segments if each.sampled)
    left_out = _beyond(sampled, marked)
    marked_too = _beyond(marked, sampled)
    owners: dict[int, tuple[list[str], list[str]]] = {}
    for which, stretches in enumerate((left_out, marked_too)):
        for start, end in stretches:
            owner = next(each.message for each in whole.segments if each.end > start)
            owners.setdefault(owner, ([], []))[which].append(whole.text[start:end])
    roles = tuple(str(message.get("role")) for message in messages)
    # A system message that the template needs stands before the dialogue.
    before = len(messages) - len(dialogue)
    for owner, (left, too) in sorted(owners.items()):
        turn = dialogue[owner - before] if owner >= before else None
        parts = str(turn.presence) if isinstance(turn, Turn) else ""
        yield MismarkedTurn(roles, owner, parts, tuple(left), tuple(too))


def _beyond(
    one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return what of the stretches in `one` is in none of `other`; both rise."""
    found: list[tuple[int, int]] = []
    for start, end in one:
        at = start
        for begin, stop in other:
            if stop <= at or begin >= end:
                continue
            if begin > at:
                found.append((at, begin))
            at = max(at, stop)
        if at < end:
            found.append((at, end))
    return found


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put stretches together that touch."""
    found: list[tuple[int, int]] = []
    for start, end in stretches:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _asked(*, briefly: bool) -> Iterator[tuple[Dialogue, bool]]:
    """Return the conversations, each with whether a generation prompt follows."""
    messages = [case.message for case in battery()]
    if not briefly:
        return product(_dialogues(messages), (False, True))
    one_of_each = {str(message.presence): message for message in reversed(messages)}
    return product(_dialogues(one_of_each.values()), (False,))


def _dialogues(messages: Iterable[Turn]) -> Iterator[Dialogue]:
    """Return every message: alone, between others, and again after its results."""
    done, again = Turn("All done.", "It is done."), User("Thanks. Anything else?")
    for message in messages:
        answers = tuple(ToolResult("done", call.name, call.id) for call in message.calls)
        asked: Dialogue = (User("Please look into it."), message, *answers)
        yield asked
        yield (*asked, *([done] if answers else []), again, Turn("Nothing else."))
        if answers:
            yield (*asked, message, *answers, done)
