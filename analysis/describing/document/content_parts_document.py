"""What becomes of content that is a list of parts, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, UnsetType

from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.core.format import (
    ContentParts,
    MediaPlace,
    MediaSlot,
    MediaTreatment,
    PartsOutcome,
)
from autoparser.analysis.core.json_document import Count, JsonDocument
from autoparser.analysis.describing.format_document.notation_document import ONE


class PlaceholderPieceDocument(JsonDocument, frozen=True):
    """A text of a placeholder, or what differs from part to part."""

    literal: str | UnsetType = UNSET
    slot: MediaSlot | UnsetType = UNSET


class MediaDocument(JsonDocument, frozen=True):
    """What becomes of parts of one kind."""

    kind: MediaKind
    outcome: PartsOutcome
    """The best that becomes of any form."""
    forms: Mapping[str, PartsOutcome]
    """What becomes of each form in which callers send such parts."""
    placeholder: tuple[Annotated[PlaceholderPieceDocument, ONE], ...]
    """What stands for a part; empty where nothing does."""
    alone: tuple[Annotated[PlaceholderPieceDocument, ONE], ...]
    """What stands for a part that is the only one of its kind; empty where that is the same."""
    place: MediaPlace | None
    """Where it stands; null where nothing does."""
    each: bool
    """Whether every part of a message has its own; else all have one."""
    first_number: Count | None
    """The number of the first part; null where they are not counted."""
    roles: tuple[str, ...]
    """The roles of messages in which it is written."""
    earlier: bool
    """Whether it is still written when later messages follow."""
    loses_text: bool
    """Whether a text beside such a part is lost."""
    reason: str
    """The template's words where it raises."""


class ContentPartsDocument(JsonDocument, frozen=True):
    """What becomes of a user's content that is a list of parts."""

    texts: PartsOutcome
    """What becomes of a list of texts."""
    reason: str
    """The template's words where it raises on that."""
    media: tuple[MediaDocument, ...]
    """Images, videos, audio; empty where a list of texts is not written already."""
    renders: Count
    """How many renders say so."""


def content_parts_document(parts: ContentParts) -> ContentPartsDocument:
    """Return what becomes of parts."""
    media = tuple(map(_media_document, parts.media))
    return ContentPartsDocument(parts.texts, parts.reason, media, parts.renders)


def _media_document(media: MediaTreatment) -> MediaDocument:
    return MediaDocument(
        kind=media.kind,
        outcome=media.outcome,
        forms=media.forms,
        placeholder=tuple(map(_piece_document, media.placeholder)),
        alone=tuple(map(_piece_document, media.alone)),
        place=media.place,
        each=media.each,
        first_number=media.first_number,
        roles=media.roles,
        earlier=media.earlier,
        loses_text=media.loses_text,
        reason=media.reason,
    )


def _piece_document(piece: str | MediaSlot) -> PlaceholderPieceDocument:
    if isinstance(piece, MediaSlot):
        return PlaceholderPieceDocument(slot=piece)
    return PlaceholderPieceDocument(literal=piece)
