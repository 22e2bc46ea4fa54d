"""The switches of a template: the variables a caller may set, and what each changes.

Callers know them as `chat_template_kwargs`.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from .conversation import Json
from .documents import JsonDocument


class SwitchEffect(StrEnum):
    """What a switch changes."""

    GENERATION_PROMPT = "the generation prompt"
    HISTORY_REASONING = "whether reasoning stays in the history"
    TURN = "the assistant's turn"
    CALLS = "how calls are written"
    ARGUMENTS = "what the arguments of calls say"
    PROMPT = "the text before the turn"
    RAISES = "the template raises"


class Switch(JsonDocument, frozen=True):
    """A variable that changes a render."""

    name: str
    values: tuple[Json, ...]
    """Values whose renders all differ: one that renders as the unset variable does, if any word
    or number does or another boolean does not, and those with an effect."""
    default: Json
    """The value that renders as the unset variable does; None: no value that was tried does."""
    effects: tuple[tuple[SwitchEffect, ...], ...]
    """What each of the values changes against the unset variable."""
    inserted: bool
    """The value itself is written into the text, so any text is a value."""
    text_effects: tuple[SwitchEffect, ...]
    """What any text changes, where it is inserted."""
    only: str
    """In words, when alone it changes anything; empty: always, as far as was tried."""
    conditions: tuple[str, ...] = ()
    """The same for each of the values; empty: for all of them what holds for the switch."""
    equal_values: tuple[tuple[Json, ...], ...] = ()
    """For each of the values, the others that were tried and render alike; empty: for none."""
    any_other: Json = None
    """The value, one of them or equal to one, that stands for any that the template does not know;
    None: those do nothing."""
    raising: tuple[Json, ...] = ()
    """Values that the template compares it with, and that make the usual conversation raise."""
    others_raise: bool = False
    """A value that the template does not know makes the usual conversation raise."""
    numeric: bool = False
    """It is compared with numbers, so any number is what is written in, does something or raises,
    rather than any text."""

    @property
    def changes(self) -> frozenset[SwitchEffect]:
        """All that any value changes."""
        every = (*self.effects, self.text_effects)
        return frozenset(effect for effects in every for effect in effects)

    def effects_of(self, value: Json) -> tuple[SwitchEffect, ...]:
        """Return what a value changes against the unset variable."""
        # By their texts, since to Python true is 1.
        known = zip(self.values, self.effects, strict=True)
        return next((effects for one, effects in known if repr(one) == repr(value)), ())

    @property
    def groups(self) -> tuple[tuple[Json, ...], ...]:
        """The values with those that render alike behind each."""
        equal = self.equal_values or ((),) * len(self.values)
        return tuple((one, *more) for one, more in zip(self.values, equal, strict=True))


class UnmovedVariable(Struct, frozen=True):
    """A variable that the template reads, of which no effect was found."""

    name: str
    raises: bool = False
    """Some value that was tried makes the usual conversation raise."""
