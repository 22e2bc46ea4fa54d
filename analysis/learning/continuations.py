"""What the template itself writes after its generation prompts, under every setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall, UserMessage
from autoparser.analysis.core.message_battery import (
    CITY_TOOL,
    BatteryCase,
    battery_messages,
    battery_tools,
)
from autoparser.analysis.core.message_shape import FormDeparture
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_format import (
    Formats,
    RefusedMessageError,
    TurnFormat,
    opening_at_end,
)
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .call_frame import written_by
from .prober import Prober
from .template_turns import QUESTION, TemplateTurns

ASKED = (
    "content",
    "reasoning and content",
    "1 call",
    "content and 1 call",
    "reasoning and 1 call",
    "reasoning and content and 2 calls",
    "an argument of every type",
    "content with markup",
)
"""The messages of the battery that are asked for; a prompt is gone on with by some of them."""

ASKED_LATER = ("content", "1 call", "reasoning and 1 call")
"""Those that are asked for behind earlier turns, too: what counts calls, or remembers them, shows
in the first of them."""


class Earlier(StrEnum):
    """What a conversation holds before the prompt."""

    NOTHING = ""
    CALL = "a call and its result"
    ANSWER = "an answer and a second user message"


EARLIER_CALL = ToolCall(CITY_TOOL, {"city": "Lima", "days": 2}, "eA2rL4yC6")
EARLIER_WORDS = ("Good morning.", "Good morning! What is it about?")


@dataclass(frozen=True, slots=True)
class TemplateContinuation:
    """One message, as the template writes it after a generation prompt."""

    opening: TurnOpening
    """With the setting that both were rendered under."""
    title: str
    message: Message
    text: str | None
    """What stands after the prompt; None: the template's turn does not go on from the prompt."""
    earlier: Earlier = Earlier.NOTHING
    """What the conversation held before the question."""
    prompt: str = ""
    """The whole prompt."""
    before: str = ""
    """The conversation without what asking for a generation prompt adds."""
    form: FormDeparture | None = None
    """In what it was sent as users do, and not in the form that the template takes."""


def render_continuations(
    formats: Formats, prober: Prober, form: FormDeparture | None
) -> tuple[TemplateContinuation, ...]:
    """Render the messages after every generation prompt; `prober` has nothing set.

    And again as users send them, where that is another form, and is taken.
    """
    return tuple(
        continuation
        for format_ in formats
        for opening in _different(format_)
        for way in ((None,) if form is None else (None, form))
        for continuation in _behind(format_, opening, prober, way)
    )


def _different(format_: TurnFormat) -> Iterator[TurnOpening]:
    """Return one opening for each text: settings whose prompts end alike go on alike."""
    seen: set[str] = set()
    for opening in format_.openings:
        if opening.text.strip() and opening.text not in seen:
            seen.add(opening.text)
            yield opening


def _behind(
    format_: TurnFormat, opening: TurnOpening, prober: Prober, form: FormDeparture | None
) -> Iterator[TemplateContinuation]:
    for earlier in Earlier:
        turns = turns_after(format_, opening, prober, earlier, form)
        if earlier is Earlier.CALL and not (turns.offers and format_.calls):
            continue
        if (earlier or form) and not turns.prompted.rendered:
            # What a conversation may be made of is another question: lint asks it.
            continue
        for case in _cases(ASKED_LATER if earlier else ASKED, calls=turns.offers):
            message = format_.with_naming_ids(case.message)
            dialogue = (*_history(format_, earlier), UserMessage(QUESTION), message)
            if form is not None and form.same(dialogue, tools=turns.offers):
                continue
            text = turns.written(message).continuation if turns.prompted.rendered else None
            if form is None or text is not None:
                yield TemplateContinuation(
                    opening, case.title, message, text, earlier, turns.prompt, turns.before, form
                )


def with_later_openings(formats: Formats, found: Sequence[TemplateContinuation]) -> Formats:
    """Add what prompts behind earlier turns end with, where no opening of their format does.

    Nothing is rendered: `found` are all continuations of these formats.
    """
    each = tuple(replace(one, later_openings=_later_openings(one, found)) for one in formats)
    full = each[next(at for at, one in enumerate(formats) if one is formats.fullest)]
    return replace(formats, each=each, fullest=full)


def _later_openings(
    format_: TurnFormat, found: Sequence[TemplateContinuation]
) -> tuple[TurnOpening, ...]:
    groups: dict[tuple[str, Earlier], list[TemplateContinuation]] = {}
    for one in found:
        if one.form is None and any(one.opening is each for each in format_.openings):
            groups.setdefault((repr(one.opening.setting), one.earlier), []).append(one)
    later: list[TurnOpening] = []
    for (setting, earlier), group in groups.items():
        known = replace(format_, later_openings=tuple(later))
        first = group[0]
        if earlier and opening_at_end(known, first.prompt) is None:
            alone = groups.get((setting, Earlier.NOTHING), group)[0].before
            text = _told_by(first, alone)
            begun = _amounts_to(format_, group, text) if text else None
            if begun is not None:
                later.append(
                    replace(
                        first.opening,
                        text=text,
                        stands_for=begun,
                        written=written_by(begun, format_.header, format_.reasoning),
                    )
                )
    return tuple(later)


def _told_by(found: TemplateContinuation, alone: str) -> str:
    """Return the text at a prompt's end by which it is known; empty where nothing tells it.

    Where asking for a generation prompt adds nothing, that is the last marker before it, unless
    a conversation that ends with a user's message, `alone`, ends with it as well.
    """
    added = found.prompt.removeprefix(found.before)
    if any(map(str.isalnum, added)) and found.prompt != added:
        return added
    units = edge_units(found.prompt.rpartition(QUESTION)[2])
    at = max((at for at, unit in enumerate(units) if is_unit(unit)), default=None)
    told = "" if at is None else "".join(units[at:])
    return "" if alone.rstrip().endswith(told.rstrip()) else told


def _amounts_to(
    format_: TurnFormat, group: Sequence[TemplateContinuation], text: str
) -> str | None:
    """Return how a turn begins, as behind a user's message, where it goes on as it does here.

    None where turns do not agree on it, and the text says nothing by itself.
    """
    begun: set[str] = set()
    for one in group:
        if one.text:
            try:
                turn = format_.write(one.message)
            except RefusedMessageError:
                continue
            if not turn.endswith(one.text):
                return None
            begun.add(turn.removesuffix(one.text))
    if begun:
        return begun.pop() if len(begun) == 1 else None
    # No turn goes on from it, as where history keeps no reasoning: a prompt that opens it, or
    # closes an empty block, does so behind a user's message, too.
    told = format_.header.rstrip() + text.strip()
    written = written_by(told, format_.header, format_.reasoning)
    opens = written in {PromptProgress.REASONING_OPEN, PromptProgress.REASONING_CLOSED}
    return told + text[len(text.rstrip()) :] if opens else None


def turns_after(
    format_: TurnFormat,
    opening: TurnOpening,
    prober: Prober,
    earlier: Earlier = Earlier.NOTHING,
    form: FormDeparture | None = None,
) -> TemplateTurns:
    """Return the template's turns after a generation prompt, the tools of the battery offered."""
    tools = battery_tools() if opening.tools else ()
    return TemplateTurns(
        prober if form is None else prober.using(shape=form.shape),
        setting=opening.setting,
        tools=tools,
        named=format_.with_naming_ids,
        history=_history(format_, earlier),
    )


def _history(format_: TurnFormat, earlier: Earlier) -> Dialogue:
    said, answer = EARLIER_WORDS
    match earlier:
        case Earlier.NOTHING:
            return ()
        case Earlier.CALL:
            # An id that carries the name is made anew, the others are unlike those of later calls.
            return (UserMessage(said), format_.with_naming_ids(Message(calls=(EARLIER_CALL,))))
        case Earlier.ANSWER:
            return (UserMessage(said), Message(answer))


def _cases(asked: Sequence[str], *, calls: bool) -> Iterator[BatteryCase]:
    for case in battery_messages():
        if case.title in asked and (calls or not case.message.calls):
            yield case
