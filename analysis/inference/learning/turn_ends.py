"""What closes a turn, as the last of a conversation and as an earlier one; where a model stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autoparser.analysis.core.alignment import edge_units, first_marker, is_unit
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import CallLimit, End, Layout, Part
from autoparser.analysis.inference.probing import Probe

from .calls_frame import CallsFrame
from .history import called_turn, following_text, historic_end, historic_turn
from .layouts import SectionMarkers
from .observer import Observer


@dataclass(frozen=True, slots=True)
class SeenEnd:
    """What closes turns whose last part is this one, and the renders that show it."""

    end: End
    stop: str
    """What a model's output stops at: the first marker after the part; empty: nothing does."""
    last: Probe
    later: Probe


def learn_ends(
    observer: Observer,
    layouts: Mapping[Presence, Layout],
    header: str,
    turn_end: str,
    section: SectionMarkers,
    frame: CallsFrame | None,
) -> tuple[SeenEnd, ...]:
    """See what closes a turn after content and after calls."""
    calls = "" if frame is None else f"{section.open}{frame.written(0)}{section.close}"
    found: list[SeenEnd] = []
    for part, presence, shown, later in (
        (
            Part.CONTENT,
            Presence(content=True),
            observer.prober.sentinels.content,
            historic_turn(observer),
        ),
        (Part.CALLS, Presence(calls=True), calls, called_turn(observer)),
    ):
        layout = layouts[presence]
        if layout.parts[-1:] != (part,) or not shown:
            continue
        inner, text = "", layout.literals[-1]
        if part is Part.CONTENT and text.endswith(turn_end):
            inner, text = text.removesuffix(turn_end), turn_end
        end = End(part, text, historic_end(observer, later, shown + inner, text, header))
        closer = ""
        if part is Part.CALLS and frame is not None and frame.limit is not CallLimit.MANY:
            closer = _last_marker(observer, calls)
        stop = _stop(observer, end, closer)
        found.append(SeenEnd(end, stop, observer.shown(presence).probe, later))
    return tuple(found)


def _stop(observer: Observer, end: End, closer: str) -> str:
    """Name what a model's output stops at: the first marker after the turn's last part.

    Where nothing may follow a call and nothing ends the turn, the call's `closer` does.
    """
    text = end.text.strip() or closer
    behind = text or following_text(observer, end.after).strip()
    units = edge_units(behind)
    if units and is_unit(units[0]):
        return first_marker(behind).strip()
    return text


def _last_marker(observer: Observer, calls: str) -> str:
    units = edge_units(observer.pieces(calls).literals[-1])
    return units[-1] if units and is_unit(units[-1]) else ""
