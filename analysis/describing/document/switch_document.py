"""What a switch does, put together from where it was learnt."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Formats
from autoparser.analysis.core.json_document import AnyJson, JsonDocument
from autoparser.analysis.core.switches import Effect, Switch


class AnyTextDocument(JsonDocument, frozen=True):
    """A switch whose value is itself written into the text."""

    effects: tuple[Effect, ...]


class SwitchValueDocument(JsonDocument, frozen=True):
    """What a value of a switch changes."""

    value: AnyJson
    equal_values: tuple[AnyJson, ...]
    """The others that were tried and render alike."""
    effects: tuple[Effect, ...]
    generation_prompt: str | None
    """The generation prompt under this value; null: it was not rendered, because the value does
    not change it."""
    only: str | None
    """In words, when alone it changes anything; null: always, as far as was tried."""


class SwitchDocument(JsonDocument, frozen=True):
    """A variable that changes a render."""

    name: str
    default: AnyJson
    """The value that renders as the unset variable does; null: none that was tried."""
    only: str | None
    """In words, when alone it changes anything; null: always, as far as was tried."""
    any_text: AnyTextDocument | None
    """Where the value itself is written into the text: what any text changes; else null."""
    values: tuple[SwitchValueDocument, ...]
    """Values whose renders all differ."""
    any_other: AnyJson
    """The value, one of them or equal to one, that stands for any that the template does not know;
    null: those do nothing."""
    raising: tuple[AnyJson, ...]
    """Values that the template compares it with, and that make the usual conversation raise."""
    others_raise: bool
    """A value that the template does not know makes the usual conversation raise."""
    numeric: bool
    """It is compared with numbers: what is said of any text holds of any number instead."""


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


def switch_document(switch: Switch, formats: Formats) -> SwitchDocument:
    """Return a switch with its values and what each changes."""
    return SwitchDocument(
        switch.name,
        switch.default,
        switch.only or None,
        AnyTextDocument(effects_of_text(switch)) if switch.inserted else None,
        tuple(
            SwitchValueDocument(
                value,
                tuple(equal),
                effects_of(switch, value),
                prompt_under(formats, {switch.name: value}),
                (switch.conditions[at] if switch.conditions else switch.only) or None,
            )
            for at, (value, *equal) in enumerate(switch.groups)
        ),
        switch.any_other,
        switch.raising,
        switch.others_raise,
        switch.numeric,
    )
