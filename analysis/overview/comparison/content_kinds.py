"""Content given as a list of parts, in the shapes that callers send."""

from __future__ import annotations

from typing import NamedTuple

from autoparser.analysis.core.conversation import MEDIA_FORMS, Json, MediaKind

__all__ = ["PARTS", "TEXT_PARTS", "UNTYPED", "ContentKind"]

_PICTURE = "https://example.org/cat.png"
_GIVEN: dict[str, str] = {
    MediaKind.IMAGE: _PICTURE,
    MediaKind.AUDIO: "https://example.org/cat.wav",
    MediaKind.VIDEO: "https://example.org/cat.mp4",
    "input_audio": "UklGRg==",
}
"""The data of each kind, and of a form that takes no address."""
_TEXT: Json = {"type": "text", "text": "What is in this?"}
_IMAGE: Json = {"type": "image"}
_VIDEO: Json = {"type": "video"}


class ContentKind(NamedTuple):
    """One way of giving a message's content."""

    name: str
    """The part's type, and the key that holds its data."""
    content: Json


TEXT_PARTS: tuple[ContentKind, ...] = (
    ContentKind("text", [_TEXT]),
    ContentKind("two texts", [_TEXT, {"type": "text", "text": "And who took it?"}]),
)
"""Texts alone, which every role may send."""

_PLAYED = (
    *("image", "image with image", "image with url", "image_url"),
    *("audio", "audio with audio", "audio_url", "input_audio"),
    *("video", "video with video", "video_url"),
)
"""The forms that callers send most."""
_FORMS = {form.name: form for form in MEDIA_FORMS}
_DATA: tuple[tuple[str, Json], ...] = (
    *((name, _FORMS[name].part(_GIVEN.get(name) or _GIVEN[_FORMS[name].kind])) for name in _PLAYED),
    ("file", {"type": "file", "file": {"file_id": "file-1"}}),
)

PARTS: tuple[ContentKind, ...] = (
    *TEXT_PARTS,
    *(ContentKind(name, [part, _TEXT]) for name, part in _DATA),
    ContentKind("text before image", [_TEXT, _IMAGE]),
    ContentKind("two images and a video", [_IMAGE, _IMAGE, _VIDEO, _TEXT]),
)
"""What a user may send; every part of data has a text beside it."""

UNTYPED: tuple[ContentKind, ...] = (
    ContentKind("text without a type", [{"text": "What is in this?"}]),
    ContentKind("image without a type", [{"image": _PICTURE}, {"text": "What is in this?"}]),
)
"""Parts that only their keys tell apart."""
