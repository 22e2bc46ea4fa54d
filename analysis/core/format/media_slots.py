"""What a template makes of parts of a message that are not text: placeholders, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from autoparser.analysis.core.conversation import MediaKind


class PartsOutcome(StrEnum):
    """What becomes of parts in a prompt."""

    WRITTEN = "written"
    DROPPED = "dropped"
    """The prompt is as if they were not there."""
    REFUSED = "refused"
    """The template raises an exception of its own."""
    CRASHES = "crashes"
    PRINTED = "printed"
    """As Python or JSON prints a list, brackets and all."""
    SPREAD = "spread"
    """The prompt changes, but no one stretch of it stands for the part."""


class MediaPlace(StrEnum):
    """Where in a message a placeholder stands."""

    INLINE = "in the place of the part"
    BEFORE = "before the texts of the message"
    AFTER = "after the texts of the message"


class MediaSlot(StrEnum):
    """What in a placeholder is not always the same."""

    NUMBER = "number"
    """The number of the part, counted through the prompt."""
    DATA = "data"
    """What the part holds: an address, a path."""


Placeholder: TypeAlias = tuple[str | MediaSlot, ...]
"""What stands for a part: texts, and between them what differs from part to part."""


@dataclass(frozen=True, slots=True)
class MediaTreatment:
    """What becomes of parts of one kind."""

    kind: MediaKind
    outcome: PartsOutcome
    """The best that becomes of any form."""
    forms: Mapping[str, PartsOutcome] = field(default_factory=dict[str, PartsOutcome])
    """What becomes of each form in which callers send such parts, by its name."""
    placeholder: Placeholder = ()
    """What stands for one part; empty where nothing does."""
    alone: Placeholder = ()
    """What stands for a part that is the only one of its kind; empty where that is the same."""
    place: MediaPlace | None = None
    each: bool = True
    """Whether every part of a message has a placeholder of its own; else all have one."""
    first_number: int | None = None
    """The number of the first part, where the template counts them."""
    roles: tuple[str, ...] = ()
    """The roles of the messages in which it is written."""
    earlier: bool = True
    """Whether it is still written when later messages follow."""
    loses_text: bool = False
    """Whether a text beside such a part is not in the prompt."""
    reason: str = ""
    """The template's own words, where it refuses such parts or crashes."""


@dataclass(frozen=True, slots=True)
class ContentParts:
    """What becomes of a user's content that is a list of parts."""

    texts: PartsOutcome
    """What becomes of a list of texts."""
    reason: str = ""
    """The template's own words, where it refuses that or crashes."""
    media: tuple[MediaTreatment, ...] = ()
    """Of each kind; nothing where a list of texts is not written already."""
    renders: int = 0
    """How many renders say so."""

    def of(self, kind: MediaKind) -> MediaTreatment | None:
        """Return what becomes of parts of a kind; None where that was not asked."""
        return next((each for each in self.media if each.kind is kind), None)

    @property
    def written(self) -> tuple[MediaTreatment, ...]:
        """The kinds that reach the prompt."""
        return tuple(each for each in self.media if each.outcome is PartsOutcome.WRITTEN)


_BEST = (
    PartsOutcome.WRITTEN,
    PartsOutcome.SPREAD,
    PartsOutcome.DROPPED,
    PartsOutcome.PRINTED,
    PartsOutcome.REFUSED,
    PartsOutcome.CRASHES,
)


def best_outcome(outcomes: Iterable[PartsOutcome]) -> PartsOutcome:
    """Return the outcome that a caller would choose."""
    return min(outcomes, key=_BEST.index)
