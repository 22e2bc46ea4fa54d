"""Whose fault it is that a round trip breaks: the template's, the engine's, or the model's."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.reading.parsing import ParsedMessage, Status

from .broken_step import BrokenStep
from .cause import Cause
from .remembering import unreadable
from .replay import Replay, ReplayStage
from .scenario import ArgumentsAs, EngineHabits, MessagesAs

__all__ = ["Culprit", "fault_of"]


class Culprit(StrEnum):
    """Whose fault a break is."""

    TEMPLATE = "template"
    """The message in the history holds what was sampled, and the template writes it otherwise."""
    ENGINE = "engine"
    """An engine that keeps all of the message fixes it, where it hands it on as users send it."""
    MODEL = "model"
    """The messages do not hold how the model wrote: it departs from what the template writes."""


def fault_of(
    stage: ReplayStage, replay: Replay, cause: Cause | None, plain: str | None
) -> Culprit | None:
    """Say whose fault it is; None where nothing breaks.

    `plain` is what the format itself writes in this place; None where a person gave the text. For
    example compact JSON is the same message as spaced JSON, so that no template could write it
    back: the model's. A newline that ends the answer is in the message, and a template that trims
    it is at fault.
    """
    if cause is None:
        return None
    exchange = replay.exchange
    if cause is Cause.RETOKENIZED:
        return Culprit.ENGINE if plain is None or plain != exchange.sampled else Culprit.MODEL
    case = BrokenStep(stage, replay, len(replay.text) if replay.at is None else replay.at)
    engine = exchange.engine
    if engine != EngineHabits() and case.moves(replace(exchange, engine=EngineHabits())):
        return Culprit.TEMPLATE if _breaks_as_sent(case) else Culprit.ENGINE
    if cause in _OF_CALLS and _not_whole(replay.parsed):
        return Culprit.MODEL
    if plain is not None and plain != exchange.sampled:
        departs = len(replay.prompt.text) + prefix_length(plain, exchange.sampled)
        if case.at < departs:
            return Culprit.TEMPLATE
    if unreadable(replay.parsed):
        return Culprit.MODEL
    if plain is not None and plain != exchange.sampled:
        straight = stage.play(replace(exchange, sampled=plain, cut=False))
        if straight.kept.message == replay.kept.message:
            return Culprit.MODEL
    return Culprit.TEMPLATE


def _breaks_as_sent(case: BrokenStep) -> bool:
    """Say whether an engine breaks it that does no more than to hand on what users send.

    Arguments as an object, calls in their wrapper, an empty text beside them are what a template
    has to expect. An engine that drops or strips something, or makes parts of texts, is at fault.
    """
    engine = case.exchange.engine
    arguments, messages = ArgumentsAs.TEMPLATE, MessagesAs.TEMPLATE
    if engine.arguments is ArgumentsAs.OBJECT:
        arguments = ArgumentsAs.OBJECT
    if engine.messages is not MessagesAs.TEMPLATE:
        messages = MessagesAs.API
    handing_on = EngineHabits(arguments=arguments, messages=messages)
    if handing_on == EngineHabits():
        return False
    return not case.moves(replace(case.exchange, engine=handing_on))


_OF_CALLS = (Cause.CALL_LOST, Cause.CALL_REPAIRED)


def _not_whole(parsed: ParsedMessage) -> bool:
    """Say whether a call was cut, or is not as calls are: no template could write it back."""
    return unreadable(parsed) or parsed.status is Status.MALFORMED
