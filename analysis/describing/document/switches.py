"""What a switch does, put together from where it was learnt."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Formats
from autoparser.analysis.inference.learning.switches import Effect, Switch

from .plain import plain


def effects_of(switch: Switch, value: Json) -> tuple[Effect, ...]:
    """Say what a value changes against the unset variable."""
    # By their texts, since to Python true is 1.
    known = {repr(one): effects for one, effects in zip(switch.values, switch.effects, strict=True)}
    return known.get(repr(value), ())


def effects_of_text(switch: Switch) -> tuple[Effect, ...]:
    """Say what any text changes, where the value itself is written into the prompt."""
    return switch.text_effects


def prompt_under(formats: Formats, setting: Mapping[str, Json]) -> str | None:
    """Return the generation prompt under exactly this setting; None where it was not rendered."""
    begun = formats.under(setting)
    if begun is None or begun.opening is None or setting.keys() - begun.opening.setting.keys():
        return None
    return begun.opening.text


def switch_document(switch: Switch, formats: Formats) -> dict[str, Json]:
    """Return a switch with its values and what each changes."""
    return {
        "name": switch.name,
        "default": plain(switch.default),
        "only": switch.only or None,
        "any_text": {"effects": [effect.value for effect in effects_of_text(switch)]}
        if switch.inserted
        else None,
        "values": [
            {
                "value": plain(value),
                "effects": [effect.value for effect in effects_of(switch, value)],
                "generation_prompt": prompt_under(formats, {switch.name: value}),
            }
            for value in switch.values
        ],
    }
