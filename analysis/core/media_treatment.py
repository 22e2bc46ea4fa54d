"""How a template renders content that is a list of parts: texts, images, videos and audio.

For example, a template that numbers images writes a placeholder with a slot:

    >>> number = PlaceholderPiece(slot=MediaSlot.NUMBER)
    >>> placeholder = (PlaceholderPiece(literal="<image:"), number, PlaceholderPiece(literal=">"))
    >>> "".join(piece.filled({MediaSlot.NUMBER: "1"}) for piece in placeholder)
    '<image:1>'
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import UNSET, UnsetType

from .conversation import MediaKind
from .documents import ONE_KEY, Count, JsonDocument


class PartsOutcome(StrEnum):
    """How a template treats media parts, or content that is a list of parts."""

    WRITTEN = "written"
    DROPPED = "dropped"
    """The prompt is the same without them."""
    REFUSED = "refused"
    """The template raises an exception of its own."""
    CRASHES = "crashes"
    PRINTED = "printed"
    """As Python or JSON prints a list, with its brackets."""
    SPREAD = "spread"
    """The prompt changes in several places, so none of them is the placeholder."""


class MediaPlace(StrEnum):
    """The place of a placeholder in its message."""

    INLINE = "in the place of the part"
    BEFORE = "before the texts of the message"
    AFTER = "after the texts of the message"


class MediaSlot(StrEnum):
    """The variable pieces of a placeholder."""

    NUMBER = "number"
    """The number of the part, counted through the prompt."""
    DATA = "data"
    """The part's data: a URL or a path."""


class PlaceholderPiece(JsonDocument, frozen=True):
    """A literal or a slot of a placeholder."""

    literal: str | UnsetType = UNSET
    """Text that is the same for every part, such as `"<|image|>"`."""
    slot: MediaSlot | UnsetType = UNSET
    """The variable text, such as `"number"`."""

    def filled(self, slots: Mapping[MediaSlot, str]) -> str:
        """Return the literal, or the slot's text."""
        if self.slot is not UNSET:
            return slots[self.slot]
        return "" if self.literal is UNSET else self.literal


Placeholder: TypeAlias = tuple[Annotated[PlaceholderPiece, ONE_KEY], ...]
"""The text that a template writes for a media part, such as `<image:1>` with a slot for 1."""


class MediaTreatment(JsonDocument, frozen=True):
    """How a template treats media parts of one kind."""

    kind: MediaKind
    """The medium, such as `"image"`."""
    outcome: PartsOutcome
    """The best outcome of any form, such as `"written"`."""
    forms: Mapping[str, PartsOutcome]
    """The outcome of each form that callers send, such as `{"image_url": "dropped"}`."""
    placeholder: Placeholder
    """The text that stands for a part, such as `<|image|>`; empty if none does."""
    alone: Placeholder
    """The text for the only part of its kind, such as `<|photo|>` if several are
    `Photo 1: <|photo|>` and so on; empty if it is the usual placeholder."""
    place: MediaPlace | None
    """The place of the placeholder in its message, such as `"in the place of the part"`; null
    without one."""
    each: bool
    """Whether every part of a message has its own placeholder; otherwise all share one, such as
    ` (heard)` after the texts."""
    first_number: Count | None
    """The number of the first part, such as `1`; null if parts are not numbered."""
    roles: tuple[str, ...]
    """The roles of messages in which placeholders are written, such as
    `("user", "system", "assistant", "tool")`."""
    earlier: bool
    """Whether placeholders are still written after later messages; a template may write `<image>`
    only where nothing follows."""
    loses_text: bool
    """Whether text beside such a part is lost."""
    reason: str
    """The message of the template's exception, such as
    `"texts and pictures alone are taken"`; empty if it raises none."""


class ContentParts(JsonDocument, frozen=True):
    """How a template treats user content that is a list of parts."""

    texts: PartsOutcome
    """The outcome of a list of text parts, such as `"printed"`."""
    reason: str
    """The message of the exception that such a list raises, such as
    `'TypeError: can only concatenate str (not "list") to str'`; empty if it raises none."""
    media: tuple[MediaTreatment, ...]
    """Images, videos and audio; empty unless lists of text parts are written."""
    renders: Count
    """The number of renders behind these results, such as `43`."""

    def of(self, kind: MediaKind) -> MediaTreatment | None:
        """Return the treatment of a kind of part, or None if it was not probed."""
        return next((treatment for treatment in self.media if treatment.kind is kind), None)

    @property
    def written_media(self) -> tuple[MediaTreatment, ...]:
        """The kinds of media that are written into the prompt."""
        written = PartsOutcome.WRITTEN
        return tuple(treatment for treatment in self.media if treatment.outcome is written)


_BEST = (
    PartsOutcome.WRITTEN,
    PartsOutcome.SPREAD,
    PartsOutcome.DROPPED,
    PartsOutcome.PRINTED,
    PartsOutcome.REFUSED,
    PartsOutcome.CRASHES,
)


def best_outcome(outcomes: Iterable[PartsOutcome]) -> PartsOutcome:
    """Return the outcome that a caller would prefer."""
    return min(outcomes, key=_BEST.index)
