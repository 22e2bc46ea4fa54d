"""Formats that only the prompt's words spell out: suggestions that no render confirms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import diff_split, edge_units, is_unit
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Arguments, CallFormat, CallLimit, Slot, json_notation
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.inference.probing import Probe

from .observer import Observer


@dataclass(frozen=True, slots=True)
class WordedPair:
    """Two tags that belong together, in words that a switch adds to the prompt."""

    open: str
    close: str
    without: Probe
    told: Probe


@dataclass(frozen=True, slots=True)
class WordedCall:
    """An example call, in words that tools add to the prompt."""

    calls: CallFormat
    without: Probe
    told: Probe


_LONGEST_INSIDE = 40
"""Characters between two tags that are named together, such as a placeholder or "and"."""


def find_worded_reasoning(observer: Observer, switches: Sequence[Switch]) -> WordedPair | None:
    """Look for a pair of tags in what a switch adds to the text before the turn."""
    prober = observer.prober
    unset = prober.probe((prober.user,))
    for switch in switches:
        if switch.inserted or Effect.PROMPT not in switch.changes:
            continue
        for value in switch.values:
            if repr(value) == repr(switch.any_other):
                # What stands around the caller's own words is not for the model's.
                continue
            told = prober.probe((prober.user,), setting={**prober.setting, switch.name: value})
            added = diff_split(unset.text, told.text).right
            for opening, inside, close in _pairs(added):
                if len(inside) <= _LONGEST_INSIDE and "\n" not in inside:
                    return WordedPair(opening, close, unset, told)
    return None


def find_worded_call(observer: Observer) -> WordedCall | None:
    """Look for tags around a JSON object in what tools add to the text before the turn."""
    prober = observer.prober
    without = prober.probe((prober.user,), tools=False)
    told = prober.probe((prober.user,))
    if not without.rendered or not told.rendered:
        return None
    added = diff_split(without.text, told.text).right
    for opening, inside, close in _pairs(added):
        if any(word in inside for word in prober.sentinels.words()):
            continue
        calls = _example(opening, inside, close)
        if calls is not None:
            return WordedCall(calls, without, told)
    return None


def _pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Return the tags of a text that come with their closing tag, and what stands between them."""
    units = edge_units(text)
    for at, unit in enumerate(units):
        if not is_unit(unit):
            continue
        for later in range(at + 1, len(units)):
            other = units[later]
            if other != unit and is_unit(other) and other.replace("/", "", 1) == unit:
                yield unit, "".join(units[at + 1 : later]), other
                break


_PLACEHOLDER = re.compile(r"(?<=[:\s])<[^<>\n]+>|\{[\w\s-]+\}")


def _example(opening: str, inside: str, close: str) -> CallFormat | None:
    """Read an example call: an object with a name and an object of arguments."""
    body = inside.strip()
    lead, trail = inside[: inside.find(body)], inside[inside.find(body) + len(body) :]
    try:
        value: Json = json.loads(_PLACEHOLDER.sub('""', body))
    except ValueError:
        return None
    fields = 2
    if not isinstance(value, dict) or len(value) != fields:
        return None
    (name, named), (arguments, given) = value.items()
    if not isinstance(named, str) or not isinstance(given, str | dict):
        return None
    notation = json_notation()
    return CallFormat(
        row=(
            f'{opening}{lead}{{"{name}": "',
            Slot.NAME,
            f'", "{arguments}": ',
            Slot.ARGUMENTS,
            f"}}{trail}{close}",
        ),
        arguments=Arguments(notation.object, notation),
        limit=CallLimit.FIRST,
    )
