"""Learn markers right before a call, and stop strings, that no turn of the usual messages shows.

Both sources are suggestions of the template's syntax tree. A variable that is searched may be a
list of tools that are called in another way: with the called tool in it, the render shows the
opening of the call and the end of the turn. And a text constant that is one marker, and that no
render has shown, is known to the template: right before a call that reads completely, it is
markup.
"""

from __future__ import annotations

from typing import NamedTuple

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import edge_units, is_unit

from .observer import ObservedTurn, Observer
from .shape_negotiation import switch_candidates
from .suggestions import Suggestions

_CALLS = Presence(calls=True)
_MOST = 8
"""At most this many of either are tried."""


class Leads(NamedTuple):
    """Markers that may precede a call, and further ends of turns."""

    markers: tuple[str, ...] = ()
    """Markers that may precede a call, e.g. `"<|tool|>"`."""
    stops: tuple[str, ...] = ()
    """Stop strings of turns that end in such a call, e.g. `"<|call|>"`."""


def learn_leads(observer: Observer, suggestions: Suggestions) -> Leads:
    """Learn the markers before calls and the stop strings that only a list or constant shows."""
    unseen = [
        text
        for constant in suggestions.constants
        if is_unit(text := constant.strip()) and not observer.prober.has_rendered(text)
    ]
    usual = observer.sample(_CALLS)
    markers, stops = dict.fromkeys(unseen[:_MOST]), dict[str, None]()
    candidates = set(switch_candidates(suggestions))
    for name in [name for name in suggestions.searched if name in candidates][:_MOST]:
        marks, prober = observer.prober.sentinels, observer.prober
        # `name in LIST` tests for a list that contains the called tool.
        setting: Setting = {**prober.setting, name: [marks.names[0]]}
        turn = Observer(prober.using(setting=setting)).sample(_CALLS)
        # A list of tools may be a switch that raises, or drops the call.
        if turn.refusal or marks.names[0] not in turn.text:
            continue
        before, _, after = turn.text.partition(marks.names[0])
        markers |= dict.fromkeys(_new_markers(before, usual))
        last = edge_units(after.rstrip())[-1:]
        stops |= dict.fromkeys(_new_markers("".join(last), usual))
    return Leads(tuple(markers), tuple(stops))


def _new_markers(text: str, usual: ObservedTurn) -> list[str]:
    """Return the markers of a text that the usual turn lacks."""
    units = (unit.strip() for unit in edge_units(text)) if text else ()
    return [unit for unit in units if is_unit(unit) and unit not in usual.text]
