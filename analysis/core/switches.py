"""The switches of a template: the variables that a caller may set, with their effects.

Callers know them as `chat_template_kwargs`. A template that reads `enable_thinking` and, if it is
false, ends its prompt with `<think></think>` gives
`Switch(name="enable_thinking", values=(True, False), default=True, …)` with the effect "the
generation prompt" for `False`.
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
from collections.abc import Collection, Iterable
from enum import StrEnum

from msgspec import Struct

from .conversation import Json
from .documents import JsonDocument
from .error_words import spelling_hint

ANY_WORD = "other"
"""A value that represents every text unknown to the template."""


NEVER_READ = "the template never reads the variable"


class SwitchEffect(StrEnum):
    """The effects of a switch."""

    GENERATION_PROMPT = "the generation prompt"
    HISTORY_REASONING = "whether reasoning stays in the history"
    TURN = "the assistant's turn"
    CALLS = "how calls are written"
    ARGUMENTS = "the arguments of calls"
    PROMPT = "the prompt text"
    RAISES = "the template raises"


class Switch(JsonDocument, frozen=True):
    """A variable that changes a render."""

    name: str
    """The variable's name, e.g. `"enable_thinking"`."""
    values: tuple[Json, ...]
    """Values whose renders all differ, e.g. `("medium", "none", "low", "high")`: those with an
    effect, and one without, if there is a boolean, word or number without."""
    default: Json
    """The value that renders as the unset variable does, e.g. `"medium"`; null if no value that
    was tried does."""
    effects: tuple[tuple[SwitchEffect, ...], ...]
    """The effects of each value, compared with the unset variable, e.g.
    `((), ("the generation prompt",))`."""
    inserted: bool
    """Whether the value itself is written into the text, so that any text is a value, as for
    `model_identity`, with which a system message may begin."""
    text_effects: tuple[SwitchEffect, ...]
    """The effects of any text, if it is inserted, such as `("the assistant's turn",)`."""
    only: str
    """The condition in words under which it has an effect, e.g. `"without tools"`; empty if it
    always has one, as far as was tried."""
    conditions: tuple[str, ...] = ()
    """The condition of each value, e.g. `("without tools", "")`; empty if all have the
    switch's."""
    equal_values: tuple[tuple[Json, ...], ...] = ()
    """For each value, the others with the same renders, e.g. `(("high",),)`; empty if none has."""
    any_other: Json = None
    """The value that renders as any unknown value does, such as `"other"` beside `"enabled"` and
    `"disabled"`; null if unknown values have no effect."""
    raising: tuple[Json, ...] = ()
    """Values that the template knows and with which the usual conversation raises, such as
    `(True,)` if it expects a list."""
    others_raise: bool = False
    """Whether the usual conversation raises with an unknown value."""
    numeric: bool = False
    """Whether the template compares it with numbers, so that any number, not any text, is inserted,
    has an effect or raises, as for `thinking_budget`."""

    @property
    def changes(self) -> frozenset[SwitchEffect]:
        """The effects of all values."""
        every = (*self.effects, self.text_effects)
        return frozenset(effect for effects in every for effect in effects)

    def value_effects(self, value: Json) -> tuple[SwitchEffect, ...]:
        """Return the effects of a value, compared with the unset variable."""
        # Compared by `repr`, since `True == 1` in Python.
        known = zip(self.values, self.effects, strict=True)
        return next((effects for listed, effects in known if repr(listed) == repr(value)), ())

    @property
    def groups(self) -> tuple[tuple[Json, ...], ...]:
        """Each value, followed by the others with the same renders."""
        equal = self.equal_values or ((),) * len(self.values)
        return tuple((value, *more) for value, more in zip(self.values, equal, strict=True))


def unread_variables(
    given: Iterable[str], known: Collection[str], problem: str = NEVER_READ
) -> dict[str, str]:
    """Return a line for each given variable that is not known, by its name.

    >>> unread_variables(["thinkin"], ["thinking"])
    {'thinkin': "the template never reads the variable 'thinkin'; did you mean thinking?"}
    """
    return {
        name: "; ".join(filter(None, (f"{problem} {name!r}", spelling_hint(name, known))))
        for name in given
        if name not in known
    }


class UnmovedVariable(Struct, frozen=True):
    """A variable that the template reads without a visible effect."""

    name: str
    """The variable's name, such as `"deep"`."""
    raises: bool = False
    """Whether the usual conversation raises with some value that was tried."""
