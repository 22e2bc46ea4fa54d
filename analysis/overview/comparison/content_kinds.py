"""Content given as a list of parts, in the shapes that callers send."""

from __future__ import annotations

from typing import NamedTuple

from autoparser.analysis.core.conversation import Json

__all__ = ["PARTS", "TEXT_PARTS", "UNTYPED", "ContentKind"]

_PICTURE = "https://example.org/cat.png"
_SOUND = "https://example.org/cat.wav"
_FILM = "https://example.org/cat.mp4"
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

_DATA: tuple[tuple[str, dict[str, Json]], ...] = (
    ("image", {"type": "image"}),
    ("image with image", {"type": "image", "image": _PICTURE}),
    ("image with url", {"type": "image", "url": _PICTURE}),
    ("image_url", {"type": "image_url", "image_url": {"url": _PICTURE}}),
    ("audio", {"type": "audio"}),
    ("audio with audio", {"type": "audio", "audio": _SOUND}),
    ("audio_url", {"type": "audio_url", "audio_url": {"url": _SOUND}}),
    (
        "input_audio",
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ),
    ("video", {"type": "video"}),
    ("video with video", {"type": "video", "video": _FILM}),
    ("video_url", {"type": "video_url", "video_url": {"url": _FILM}}),
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
