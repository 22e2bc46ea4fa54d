"""The settings that are learnt: those under which a turn or its generation prompt may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.inference.probing import Prober, Setting

from .observer import Observer

MOST_SETTINGS = 32
"""So many settings are looked at; few templates have more than nine."""


_MATTERING = frozenset({Effect.TURN, Effect.CALLS, Effect.GENERATION_PROMPT})


@dataclass(frozen=True, slots=True)
class SettingsToLearn:
    """The settings to learn, the default one first."""

    each: tuple[Setting, ...]
    untried: int = 0
    """Further combinations of values, which are not looked at."""


def settings_to_learn(
    base: Setting, showing: Setting, switches: Sequence[Switch]
) -> SettingsToLearn:
    """Combine the values that change a turn or its generation prompt.

    `base` is what is set by default, `showing` what brings reasoning into the text. Where there
    are too many combinations, single values come first, then pairs.
    """
    options = [
        [
            (switch.name, value)
            for value, effects in zip(switch.values, switch.effects, strict=True)
            if Effect.RAISES not in effects
        ]
        for switch in switches
        if any(_MATTERING & set(effects) for effects in switch.effects)
    ]
    found: list[Setting] = []

    def add(*values: tuple[str, Json]) -> None:
        setting = {**base, **dict(values)}
        # By their texts, since to Python true is 1.
        if repr(setting) not in {repr(each) for each in found}:
            found.append(setting)

    add()
    add(*showing.items())
    for values in options:
        for value in values:
            add(value)
    total = prod(len(values) + 1 for values in options)
    if total <= MOST_SETTINGS:
        for chosen in product(*([None, *values] for values in options)):
            add(*(value for value in chosen if value is not None))
        return SettingsToLearn(tuple(found))
    for one, other in combinations(options, 2):
        for pair in product(one, other):
            if len(found) < MOST_SETTINGS:
                add(*pair)
    return SettingsToLearn(tuple(found[:MOST_SETTINGS]), total - min(len(found), MOST_SETTINGS))


def turns_under(prober: Prober, setting: Setting) -> tuple[str, ...]:
    """Return turns under a setting that show together how it writes: equal ones share a format."""
    observer = Observer(prober.using(setting=setting))
    marks = prober.sentinels
    typed: dict[str, Json] = {
        marks.keys[0]: marks.values[0],
        marks.keys[1]: [marks.integer, None, {marks.keys[2]: True}],
    }
    calls = (observer.call(0, typed), observer.call(1))
    turns = (
        observer.turn(Message(marks.content, marks.reasoning)),
        observer.turn(Message(marks.content)),
        observer.turn(Message(marks.content, calls=calls[:1])),
        observer.turn(Message("", marks.reasoning, calls)),
    )
    return tuple(turn.refusal or turn.text for turn in turns)
