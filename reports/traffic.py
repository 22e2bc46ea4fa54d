"""What of the prefix cache a log says was lost, by cause, with advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.history.round_trips import Advice, cause_advice
from autoparser.analysis.history.traffic import CausedLosses, PrefixLoss, Traffic
from autoparser.analysis.history.trip_causes import Cause

from .blocks import Blocks, blank, heading, prose, rows, sentence
from .roundtrip import ABOUT
from .terminal import drawn_lines
from .visible import LEGEND, visible

__all__ = ["traffic_report"]

_SHOWN = 48
"""So many characters are shown of what departs."""


def traffic_report(
    found: Traffic, width: int, settings: Mapping[Cause, Setting] | None = None
) -> Text:
    """Report on a log: the sum, then each cause, that which costs most first.

    ``settings`` are those of the switches under which nothing is lost by a cause, where known.
    """
    unit = "tokens" if found.tokenized else "characters"
    words = f"{found.records} requests, {found.continued} of which go on from an earlier one."
    if found.again:
        ask = "more asks" if found.again == 1 else "more ask"
        words += f" {found.again} {ask} what was asked before; that loses nothing."
    drawn = prose(words, indent=0)
    if not found.continued:
        return Text("\n").join(drawn_lines(drawn, width))
    whole = found.kept + found.lost
    words = f"{found.lost} of {whole} {unit} that were computed for those are lost"
    words += f" ({100 * found.lost / whole:.1f} %), in {_requests(found.losses)}."
    drawn += prose(words, indent=0)
    for each in found.by_cause:
        advice = cause_advice(each.cause, (settings or {}).get(each.cause))
        drawn += _cause(each, advice, unit)
    if found.losses:
        drawn += [*blank(), *prose(Text(LEGEND, style="dim"), indent=0)]
    return Text("\n").join(drawn_lines(drawn, width))


def _requests(losses: Sequence[PrefixLoss]) -> str:
    return "1 request" if len(losses) == 1 else f"{len(losses)} requests"


def _cause(found: CausedLosses, given: Sequence[Advice], unit: str) -> Blocks:
    """Show a cause with the request that lost most by it."""
    title = f"{found.cause.value}: {found.lost} {unit} in {_requests(found.losses)}"
    drawn = [*heading(title), *prose(f"{ABOUT[found.cause]}.")]
    worst = max(found.losses, key=lambda loss: loss.lost)
    words = f"{worst.place}, {worst.lost} {unit}:"
    pairs = [
        ("written", Text(visible(worst.sampled)[:_SHOWN])),
        ("next prompt", Text(visible(worst.rendered)[:_SHOWN])),
    ]
    drawn += [*prose(words), *rows(pairs, indent=4, words=False)]
    advice = [(each.reader.value, sentence(each.text)) for each in given]
    return [*drawn, *rows(advice)]
