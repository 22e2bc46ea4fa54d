"""Prefix cache losses in a log, by cause, with advice; as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, Positive, document_json
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.history.round_trips import Advice, cause_advice, cause_code
from autoparser.analysis.history.traffic import CausedLosses, Traffic, TrafficLogError
from autoparser.analysis.history.trip_causes import Cause

from .blocks import Blocks, blank, heading, prose, rows, sentence
from .roundtrip import ABOUT, CauseCode
from .terminal import drawn_lines
from .visible import LEGEND, counted_noun, visible

_SHOWN = 48
"""Characters shown from a departure on."""


def traffic_report(
    traffic: Traffic, width: int, settings: Mapping[Cause, Setting] | None = None
) -> Text:
    """Report on a log: the total, then each cause, the most expensive first.

    `settings` are the switches that avoid a cause's losses, if known.
    """
    unit = "tokens" if traffic.tokenized else "characters"
    words = f"{traffic.records} requests, {traffic.continued} of which continue an earlier one."
    if traffic.repeats:
        ask = "more repeats" if traffic.repeats == 1 else "more repeat"
        words += f" {traffic.repeats} {ask} an earlier prompt, which loses nothing."
    drawn = prose(words, indent=0)
    # Without continued requests nothing could be reused, and a share would be of 0.
    if not traffic.continued:
        return Text("\n").join(drawn_lines(drawn, width))
    whole = traffic.reused_units + traffic.lost
    words = f"{traffic.lost} of {whole} {unit} computed for those were lost"
    words += (
        f" ({100 * traffic.lost / whole:.1f} %), in {counted_noun(len(traffic.losses), 'request')}."
    )
    drawn += prose(words, indent=0)
    for losses in traffic.by_cause:
        # A switch that avoids the losses is better advice than an edit of the template.
        advice = cause_advice(losses.cause, (settings or {}).get(losses.cause))
        drawn += _cause(losses, advice, unit)
    if traffic.losses:
        drawn += [*blank(), *prose(Text(LEGEND, style="dim"), indent=0)]
    return Text("\n").join(drawn_lines(drawn, width))


def _cause(cause_losses: CausedLosses, advice: Sequence[Advice], unit: str) -> Blocks:
    """Show a cause with the request that lost most by it."""
    requests = counted_noun(len(cause_losses.losses), "request")
    title = f"{cause_losses.cause.value}: {cause_losses.lost} {unit} in {requests}"
    drawn = [*heading(title), *prose(f"{ABOUT[cause_losses.cause]}.")]
    # The costliest request is the one to look at first.
    worst = max(cause_losses.losses, key=lambda loss: loss.lost)
    words = f"{worst.place}, {worst.lost} {unit}:"
    pairs = [
        ("written", Text(visible(worst.sampled)[:_SHOWN])),
        ("next prompt", Text(visible(worst.rendered)[:_SHOWN])),
    ]
    drawn += [*prose(words), *rows(pairs, indent=4, words=False)]
    advice_rows = [(advised.reader.value, sentence(advised.text)) for advised in advice]
    return [*drawn, *rows(advice_rows)]


class LostByCauseDocument(JsonDocument, frozen=True):
    """The losses of one cause."""

    cause: CauseCode
    """The cause, e.g. `"reasoning-dropped"`."""
    lost: Count
    """Number of lost tokens or characters, e.g. `124`."""
    requests: Positive
    """Number of requests that lost them, e.g. `2`."""
    advice: tuple[Advice, ...]
    """Things to do, e.g. `"keep reasoning by default in tool loops, …"` for a template's author."""


class LossDocument(JsonDocument, frozen=True):
    """A request whose prompt does not begin with all of the earlier computed text."""

    line: Positive
    """The request's line in the log, e.g. `2`."""
    after: Positive
    """The line of the request that it continues, e.g. `1`."""
    cause: CauseCode
    """The cause, e.g. `"reasoning-dropped"`."""
    lost: Count
    """Number of lost tokens or characters, e.g. `68`."""
    written: str
    r"""The earlier request's text from the departure on, e.g. `"<think>\nThe user wants …"`."""
    next_prompt: str
    """This request's text from the departure on, e.g. `"It is sunny.<|im_end|>…"`."""


class UnreadLineDocument(JsonDocument, frozen=True):
    """A line of the log that could not be parsed."""

    place: str
    """The line in the log, e.g. `"line 2"`; empty if unknown."""
    message: str
    """The problem, e.g. `"invalid JSON"`."""


class TrafficDocument(JsonDocument, frozen=True):
    """The prefix cache in a log."""

    schema: Literal["autoparser.traffic/1"]
    """Name and version, `"autoparser.traffic/1"`; the version is increased by every change that is
    not an addition."""
    requests: Count
    """Number of requests in the log, e.g. `4`."""
    continued: Count
    """Number of requests that continue an earlier one, e.g. `2`."""
    again: Count
    """Number of requests that repeat an earlier prompt, e.g. `0`; they lose nothing."""
    unit: Literal["tokens", "characters"]
    """The counted unit, e.g. `"characters"` if there are neither ids nor a tokenizer."""
    kept: Count
    """Reused part of earlier requests, e.g. `242`."""
    lost: Count
    """Lost part of earlier requests, e.g. `124`."""
    causes: tuple[LostByCauseDocument, ...]
    """The causes, the most expensive first, e.g. `"reasoning-dropped"`."""
    losses: tuple[LossDocument, ...]
    """The requests that lost something, in the order of the log, e.g. that of line 2."""
    unread: tuple[UnreadLineDocument, ...]
    """Lines of the log that could not be parsed; usually none (`[]`)."""


def traffic_document(
    traffic: Traffic, unread: Sequence[TrafficLogError], settings: Mapping[Cause, Setting]
) -> dict[str, Json]:
    """Return the prefix cache in a log as JSON values.

    `settings` are the switches that avoid a cause's losses, if known.
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
                cause_code(losses.cause),
                losses.lost,
                len(losses.losses),
                cause_advice(losses.cause, settings.get(losses.cause)),
            )
            for losses in traffic.by_cause
        ),
        losses=tuple(
            LossDocument(
                # Requests that were not read from a log are numbered as its lines would be.
                *(loss.lines or (loss.record + 1, loss.after + 1)),
                cause_code(loss.cause),
                loss.lost,
                loss.sampled,
                loss.rendered,
            )
            for loss in traffic.losses
        ),
        unread=tuple(UnreadLineDocument(line.place or "", line.message) for line in unread),
    )
    return document_json(whole)
