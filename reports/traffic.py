"""What of the prefix cache a log says was lost, by cause, with advice; as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, Positive, json_of
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.history.round_trips import Advice, cause_advice, code_of
from autoparser.analysis.history.traffic import CausedLosses, PrefixLoss, Traffic, TrafficLogError
from autoparser.analysis.history.trip_causes import Cause

from .blocks import Blocks, blank, heading, prose, rows, sentence
from .roundtrip import ABOUT, CauseCode
from .terminal import drawn_lines
from .visible import LEGEND, visible

_SHOWN = 48
"""So many characters are shown of what departs."""


def traffic_report(
    traffic: Traffic, width: int, settings: Mapping[Cause, Setting] | None = None
) -> Text:
    """Report on a log: the sum, then each cause, that which costs most first.

    ``settings`` are those of the switches under which nothing is lost by a cause, where known.
    """
    unit = "tokens" if traffic.tokenized else "characters"
    words = f"{traffic.records} requests, {traffic.continued} of which continue an earlier one."
    if traffic.repeats:
        ask = "more repeats" if traffic.repeats == 1 else "more repeat"
        words += f" {traffic.repeats} {ask} an earlier prompt, which loses nothing."
    drawn = prose(words, indent=0)
    if not traffic.continued:
        return Text("\n").join(drawn_lines(drawn, width))
    whole = traffic.reused_units + traffic.lost
    words = f"{traffic.lost} of {whole} {unit} computed for those are lost"
    words += f" ({100 * traffic.lost / whole:.1f} %), in {_requests(traffic.losses)}."
    drawn += prose(words, indent=0)
    for each in traffic.by_cause:
        advice = cause_advice(each.cause, (settings or {}).get(each.cause))
        drawn += _cause(each, advice, unit)
    if traffic.losses:
        drawn += [*blank(), *prose(Text(LEGEND, style="dim"), indent=0)]
    return Text("\n").join(drawn_lines(drawn, width))


def _requests(losses: Sequence[PrefixLoss]) -> str:
    return "1 request" if len(losses) == 1 else f"{len(losses)} requests"


def _cause(cause_losses: CausedLosses, advice: Sequence[Advice], unit: str) -> Blocks:
    """Show a cause with the request that lost most by it."""
    requests = _requests(cause_losses.losses)
    title = f"{cause_losses.cause.value}: {cause_losses.lost} {unit} in {requests}"
    drawn = [*heading(title), *prose(f"{ABOUT[cause_losses.cause]}.")]
    worst = max(cause_losses.losses, key=lambda loss: loss.lost)
    words = f"{worst.place}, {worst.lost} {unit}:"
    pairs = [
        ("written", Text(visible(worst.sampled)[:_SHOWN])),
        ("next prompt", Text(visible(worst.rendered)[:_SHOWN])),
    ]
    drawn += [*prose(words), *rows(pairs, indent=4, words=False)]
    advice_rows = [(each.reader.value, sentence(each.text)) for each in advice]
    return [*drawn, *rows(advice_rows)]


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
    traffic: Traffic, unread: Sequence[TrafficLogError], settings: Mapping[Cause, Setting]
) -> dict[str, Json]:
    """Return what a log says of the prefix cache as JSON values.

    ``settings`` are those of the switches under which nothing is lost by a cause, where known.
    """
    whole = TrafficDocument(
        schema="autoparser.traffic/1",
        requests=traffic.records,
        continued=traffic.continued,
        again=traffic.repeats,
        unit="tokens" if traffic.tokenized else "characters",
        kept=traffic.reused_units,
        lost=traffic.lost,
        causes=tuple(
            LostByCauseDocument(
                code_of(each.cause),
                each.lost,
                len(each.losses),
                cause_advice(each.cause, settings.get(each.cause)),
            )
            for each in traffic.by_cause
        ),
        losses=tuple(
            LossDocument(
                *(loss.lines or (loss.record + 1, loss.after + 1)),
                code_of(loss.cause),
                loss.lost,
                loss.sampled,
                loss.rendered,
            )
            for loss in traffic.losses
        ),
        unread=tuple(UnreadLineDocument(each.place or "", each.message) for each in unread),
    )
    return json_of(whole)
