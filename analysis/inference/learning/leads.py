"""Markers that stand right before a call, and stops, that no turn of the usual messages shows.

Two sources, both of them suggestions of the template's syntax tree. A variable in which something
is searched for may be a list of tools that are called in another way: with the called tool in it,
the render shows what then opens the call and what ends the turn. And a text constant that is one
marker, and that no render at all has shown, is something the template knows: where it stands right
before a call that reads whole, it is markup.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.alignment import edge_units, is_unit
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.inference.probing import Setting, Suggestions, switch_candidates

from .observer import ObservedTurn, Observer

_CALLS = Presence(calls=True)
_MOST = 8
"""So many of either are looked at."""


@dataclass(frozen=True, slots=True)
class Leads:
    """What may lead to a call, and what more may end a turn."""

    markers: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()


def learn_leads(observer: Observer, suggestions: Suggestions) -> Leads:
    """Learn the markers before calls and the stops that only a list or a constant tells of."""
    unseen = [
        text
        for each in suggestions.constants
        if is_unit(text := each.strip()) and not observer.prober.seen(text)
    ]
    usual = observer.shown(_CALLS)
    markers, stops = dict.fromkeys(unseen[:_MOST]), dict[str, None]()
    candidates = set(switch_candidates(suggestions))
    for name in [name for name in suggestions.searched if name in candidates][:_MOST]:
        marks, prober = observer.prober.sentinels, observer.prober
        setting: Setting = {**prober.setting, name: [marks.names[0]]}
        turn = Observer(prober.using(setting=setting)).shown(_CALLS)
        if turn.refusal or marks.names[0] not in turn.text:
            continue
        before, _, after = turn.text.partition(marks.names[0])
        markers |= dict.fromkeys(_new(before, usual))
        last = edge_units(after.rstrip())[-1:]
        stops |= dict.fromkeys(_new("".join(last), usual))
    return Leads(tuple(markers), tuple(stops))


def _new(text: str, usual: ObservedTurn) -> list[str]:
    """Return the markers of a text that the usual turn does not have."""
    units = (unit.strip() for unit in edge_units(text)) if text else ()
    return [unit for unit in units if is_unit(unit) and unit not in usual.text]
