"""What the template itself writes after its generation prompts, under every setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.battery import BatteryCase, battery, battery_tools
from autoparser.analysis.core.conversation import Message
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


@dataclass(frozen=True, slots=True)
class TemplateContinuation:
    """One message, as the template writes it after a generation prompt."""

    opening: Opening
    """With the setting that both were rendered under."""
    title: str
    message: Message
    text: str | None
    """What stands after the prompt; None: the template's turn does not go on from the prompt."""


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
    turns = turns_after(format_, opening, prober)
    for case in _cases(calls=turns.offers):
        message = format_.with_naming_ids(case.message)
        text = turns.written(message).continuation if turns.prompted.rendered else None
        yield TemplateContinuation(opening, case.title, message, text)


def turns_after(format_: TurnFormat, opening: Opening, prober: Prober) -> TemplateTurns:
    """Return the template's turns after a generation prompt, the tools of the battery offered."""
    tools = battery_tools() if opening.tools else ()
    return TemplateTurns(
        prober, setting=opening.setting, tools=tools, named=format_.with_naming_ids
    )


def _cases(*, calls: bool) -> Iterator[BatteryCase]:
    for case in battery():
        if case.title in ASKED and (calls or not case.message.calls):
            yield case
