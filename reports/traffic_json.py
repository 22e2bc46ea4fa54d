"""Real traffic as JSON; ``docs/traffic.schema.json`` is made of the classes here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, Positive, json_of
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.history.round_trips import Advice, cause_advice, code_of
from autoparser.analysis.history.traffic import Traffic, TrafficLogError
from autoparser.analysis.history.trip_causes import Cause

from .roundtrip_json import CauseCode

__all__ = ["TrafficDocument", "traffic_document"]


class LostByCauseDocument(JsonDocument, frozen=True):
    """What was lost by one cause."""

    cause: CauseCode
    lost: Count
    requests: Positive
    advice: tuple[Advice, ...]


class LossDocument(JsonDocument, frozen=True):
    """One request whose prompt does not begin with all that was computed before it."""

    line: Positive
    """Its line in the log."""
    after: Positive
    """The line of the request that it goes on from."""
    cause: CauseCode
    lost: Count
    written: str
    """What the earlier request had from the departure on; the beginning of it."""
    next_prompt: str
    """What this one has there instead."""


class UnreadLineDocument(JsonDocument, frozen=True):
    """A line of the log that could not be read."""

    place: str
    message: str


class TrafficDocument(JsonDocument, frozen=True):
    """What a log says of the prefix cache."""

    schema: Literal["autoparser.traffic/1"]
    """Name and version; a change that is more than an addition counts it up."""
    requests: Count
    continued: Count
    """Requests that go on from an earlier one."""
    again: Count
    """Requests whose prompt was asked before; they lose nothing."""
    unit: Literal["tokens", "characters"]
    """What is counted: characters where there are neither ids nor a tokenizer."""
    kept: Count
    """What of earlier requests was used again."""
    lost: Count
    """What of them could not be."""
    causes: tuple[LostByCauseDocument, ...]
    """That which costs most first."""
    losses: tuple[LossDocument, ...]
    unread: tuple[UnreadLineDocument, ...]


def traffic_document(
    found: Traffic, unread: Sequence[TrafficLogError], settings: Mapping[Cause, Setting]
) -> dict[str, Json]:
    """Return what a log says of the prefix cache as JSON values.

    ``settings`` are those of the switches under which nothing is lost by a cause, where known.
    """
    whole = TrafficDocument(
        schema="autoparser.traffic/1",
        requests=found.records,
        continued=found.continued,
        again=found.again,
        unit="tokens" if found.tokenized else "characters",
        kept=found.kept,
        lost=found.lost,
        causes=tuple(
            LostByCauseDocument(
                code_of(each.cause),
                each.lost,
                len(each.losses),
                cause_advice(each.cause, settings.get(each.cause)),
            )
            for each in found.by_cause
        ),
        losses=tuple(
            LossDocument(
                *(loss.lines or (loss.record + 1, loss.after + 1)),
                code_of(loss.cause),
                loss.lost,
                loss.sampled,
                loss.rendered,
            )
            for loss in found.losses
        ),
        unread=tuple(UnreadLineDocument(each.place or "", each.message) for each in unread),
    )
    return json_of(whole)
