"""The switches of a template: the variables a caller may set, and what each changes.

Callers know them as `chat_template_kwargs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .conversation import Json

__all__ = ["Effect", "Switch"]


class Effect(StrEnum):
    """What a switch changes."""

    GENERATION_PROMPT = "the generation prompt"
    HISTORY_REASONING = "whether reasoning stays in the history"
    TURN = "the assistant's turn"
    PROMPT = "the text before the turn"
    RAISES = "the template raises"


@dataclass(frozen=True, slots=True)
class Switch:
    """A variable that changes a render."""

    name: str
    values: tuple[Json, ...]
    """Values whose renders all differ."""
    default: Json
    """The value that renders as the unset variable does; None: no value that was tried does."""
    effects: tuple[tuple[Effect, ...], ...]
    """What each of the values changes against the unset variable."""
    inserted: bool = False
    """The value itself is written into the text, so any text is a value."""
    text_effects: tuple[Effect, ...] = ()
    """What any text changes, where it is inserted."""
    only: str = ""
    """In words, when alone it changes anything; empty: always, as far as was tried."""

    @property
    def changes(self) -> frozenset[Effect]:
        """All that any value changes."""
        every = (*self.effects, self.text_effects)
        return frozenset(effect for effects in every for effect in effects)
