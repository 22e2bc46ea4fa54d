"""Images, videos and sounds as parts of a message's content, in the forms that callers send.

The forms are those of transformers' processors, of OpenAI's API, and of engines that follow it. A
template sees what is passed to it: a tokenizer passes each form as it is, a processor of
transformers makes `{type: image, url: …}` of `{type: image_url, image_url: {url: …}}` first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.value_kind import is_mapping

from .message import Json


class MediaKind(StrEnum):
    """What a part of the content is, other than text."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"


@dataclass(frozen=True, slots=True)
class MediaForm:
    """One way of giving a part."""

    kind: MediaKind
    name: str
    """The part's type, and the key that holds its data."""
    type: str
    key: str = ""
    """The key that holds the data; empty: the data comes beside the messages."""
    inner: str = ""
    """The key inside that, where an object holds it."""

    def part(self, data: str) -> dict[str, Json]:
        """Return a part of this form with its data: an address, a path, base64."""
        if not self.key:
            return {"type": self.type}
        if not self.inner:
            return {"type": self.type, self.key: data}
        held: dict[str, Json] = {self.inner: data}
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
    """Return of which kind a part of a message's content is; None where it is no medium.

    A part without a type is of the kind whose key it has, as `{image: …}`.
    """
    if not is_mapping(part):
        return None
    given = part.get("type")
    if isinstance(given, str):
        return _KINDS.get(given)
    return next((kind for name, kind in _KINDS.items() if name in part), None)
