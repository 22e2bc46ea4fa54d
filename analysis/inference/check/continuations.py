"""What the template itself writes after its generation prompts, under every setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.battery import CITY_TOOL, BatteryCase, battery, battery_tools
from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall, User
from autoparser.analysis.core.format import Formats, Opening, TurnFormat
from autoparser.analysis.inference.probing import Prober

from .template_turns import TemplateTurns

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

    opening: Opening
    """With the setting that both were rendered under."""
    title: str
    message: Message
    text: str | None
    """What stands after the prompt; None: the template's turn does not go on from the prompt."""
    earlier: Earlier = Earlier.NOTHING
    """What the conversation held before the prompt."""
    prompt: str = ""
    """The prompt, where something came earlier: else it is that of the opening."""


def continuations(formats: Formats, prober: Prober) -> tuple[TemplateContinuation, ...]:
    """Render the messages after every generation prompt; `prober` has nothing set."""
    return tuple(
        continuation
        for format_ in formats
        for opening in _different(format_)
        for continuation in _behind(format_, opening, prober)
    )


def _different(format_: TurnFormat) -> Iterator[Opening]:
    """Return one opening for each text: settings whose prompts end alike go on alike."""
    seen: set[str] = set()
    for opening in format_.openings:
        if opening.text.strip() and opening.text not in seen:
            seen.add(opening.text)
            yield opening


def _behind(
    format_: TurnFormat, opening: Opening, prober: Prober
) -> Iterator[TemplateContinuation]:
    for earlier in Earlier:
        turns = turns_after(format_, opening, prober, earlier)
        if earlier is Earlier.CALL and not (turns.offers and format_.calls):
            continue
        if earlier and not turns.prompted.rendered:
            # What a conversation may be made of is another question: lint asks it.
            continue
        for case in _cases(ASKED_LATER if earlier else ASKED, calls=turns.offers):
            message = format_.with_naming_ids(case.message)
            text = turns.written(message).continuation if turns.prompted.rendered else None
            prompt = turns.prompt if earlier else ""
            yield TemplateContinuation(opening, case.title, message, text, earlier, prompt)


def turns_after(
    format_: TurnFormat, opening: Opening, prober: Prober, earlier: Earlier = Earlier.NOTHING
) -> TemplateTurns:
    """Return the template's turns after a generation prompt, the tools of the battery offered."""
    tools = battery_tools() if opening.tools else ()
    return TemplateTurns(
        prober,
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
            return (User(said), format_.with_naming_ids(Message(calls=(EARLIER_CALL,))))
        case Earlier.ANSWER:
            return (User(said), Message(answer))


def _cases(asked: Sequence[str], *, calls: bool) -> Iterator[BatteryCase]:
    for case in battery():
        if case.title in asked and (calls or not case.message.calls):
            yield case
