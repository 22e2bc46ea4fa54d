"""Images, videos and sounds as parts of a message's content, in the forms that callers send.

These are the forms of transformers' processors, of OpenAI's API, and of compatible engines. A
tokenizer passes each form to the template unchanged; a processor of transformers first turns
`{type: image_url, image_url: {url: …}}` into `{type: image, url: …}`.
"""

from __future__ import annotations

from msgspec import Struct

from .conversation import Json, MediaKind
from .error_words import (
    is_mapping,
)


class MediaForm(Struct, frozen=True):
    """One way of giving a media part."""

    kind: MediaKind
    """The medium, such as `MediaKind.IMAGE`."""
    name: str
    """The form in words, such as `"image with url"`."""
    type: str
    """The part's `type`, such as `"image_url"`."""
    key: str = ""
    """The key of the data, such as `"image_url"`; empty if data is passed beside the messages."""
    inner: str = ""
    """The key inside that object, such as `"url"`; empty if the data is not nested."""

    def part(self, data: str) -> dict[str, Json]:
        """Return a part of this form with its data: an address, a path, base64."""
        if not self.key:
            return {"type": self.type}
        if not self.inner:
            return {"type": self.type, self.key: data}
        held: dict[str, Json] = {self.inner: data}
        # OpenAI's API requires the format of audio.
        if self.key == "input_audio":
            held["format"] = "wav"
        return {"type": self.type, self.key: held}


def _forms(kind: MediaKind) -> tuple[MediaForm, ...]:
    name = kind.value
    own = tuple(MediaForm(kind, f"{name} with {key}", name, key) for key in (name, "url", "path"))
    address = f"{name}_url"
    return (MediaForm(kind, name, name), *own, MediaForm(kind, address, address, address, "url"))


MEDIA_FORMS: tuple[MediaForm, ...] = (
    *_forms(MediaKind.IMAGE),
    *_forms(MediaKind.VIDEO),
    *_forms(MediaKind.AUDIO),
    MediaForm(MediaKind.AUDIO, "input_audio", "input_audio", "input_audio", "data"),
)
"""Every form, the plainest of each kind first."""

_KINDS = {form.type: form.kind for form in MEDIA_FORMS}


def media_kind(part: object) -> MediaKind | None:
    """Return the medium of a part of a message's content, or None if it is not a media part.

    A part without a type has the medium of its key, as in `{image: …}`.
    """
    if not is_mapping(part):
        return None
    given = part.get("type")
    if isinstance(given, str):
        return _KINDS.get(given)
    return next((kind for name, kind in _KINDS.items() if name in part), None)
