"""What a template makes of content that is a list of parts, in words."""

from __future__ import annotations

from rich.text import Text

from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.core.text_format import (
    ContentParts,
    MediaSlot,
    MediaTreatment,
    PartsOutcome,
    Placeholder,
)

from .blocks import joined, sentence
from .visible import quoted, visible

__all__ = ["content_parts_words", "placeholder_text"]

_NAMES = {MediaKind.IMAGE: "images", MediaKind.VIDEO: "videos", MediaKind.AUDIO: "audio"}

_SAID = {
    PartsOutcome.WRITTEN: "written",
    PartsOutcome.DROPPED: "dropped in silence",
    PartsOutcome.REFUSED: "refused",
    PartsOutcome.CRASHES: "the template crashes",
    PartsOutcome.PRINTED: "printed as Python or JSON, brackets and all",
    PartsOutcome.SPREAD: "no one text stands for a part",
}


def content_parts_words(parts: ContentParts) -> Text:
    """Say what stands for images, videos and audio in a user's message.

    >>> str(content_parts_words(analysis.content_parts))
    'images: `<|image|>` for each part, in the place of the part; videos, audio: dropped in silence'
    """
    if parts.texts is not PartsOutcome.WRITTEN:
        return sentence(f"content as a list of parts: {_SAID[parts.texts]}", _why(parts.reason))
    grouped: dict[str, tuple[list[str], Text]] = {}
    for media in parts.media:
        words = _words(media)
        grouped.setdefault(words.plain, ([], words))[0].append(_NAMES[media.kind])
    said = [sentence(f"{', '.join(names)}: ", words) for names, words in grouped.values()]
    return joined(said, "; ")


def _words(media: MediaTreatment) -> Text:
    if media.outcome is not PartsOutcome.WRITTEN:
        lost = ", and the text beside them is lost" if media.loses_text else ""
        return sentence(_SAID[media.outcome], lost, _why(media.reason))
    many = "for each part" if media.each else "once, however many there are"
    alone = sentence(" (", quoted(placeholder_text(media.alone)), " for the only one)")
    only = alone if media.alone else ""
    written = quoted(placeholder_text(media.placeholder))
    said = sentence(written, f" {many}", only, f", {media.place}")
    if not media.earlier:
        said.append(", in the last message alone")
    if "tool" in media.roles:
        said.append(", in tool results too")
    for outcome in PartsOutcome:
        forms = [form for form, became in media.forms.items() if became is outcome]
        if forms and outcome is not PartsOutcome.WRITTEN:
            said.append(f" (as {', '.join(forms)}: {_SAID[outcome]})")
    return said


def _why(reason: str) -> str:
    return f" ({visible(reason)})" if reason else ""


def placeholder_text(placeholder: Placeholder) -> str:
    """Return what stands for a part, its slots by name: `<image_«number»>`."""
    return "".join(
        f"«{piece.value}»" if isinstance(piece, MediaSlot) else piece for piece in placeholder
    )
