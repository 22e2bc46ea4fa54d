"""Where in a render the images, videos and sounds of its messages stand.

Each part is replaced by a text with an invented word, and then by an empty text, the last part
first, so that the numbers of those before it stay. What stands where the word stood is the part's:

    see <image> now      with the image
    see zqxv now         with the word in its place        so the image is `<image>`

Where the template moves parts, nothing stands there; then what the render has more than the one
with the empty text is the part's. A part of which neither is so has no stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import diff_split
from autoparser.analysis.core.conversation import MediaKind, media_kind
from autoparser.analysis.core.value_kind import is_list

from .history_renders import HistoryRenders, Message, Messages
from .text_marks import unused_word


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A part of a message's content that is not text."""

    message: int
    """The number of the message."""
    part: int
    """The number of the part in its content."""
    kind: MediaKind


@dataclass(frozen=True, slots=True)
class MediaSpan:
    """The stretch of a render that stands for a part; empty where there is no such stretch."""

    part: MediaPart
    start: int = 0
    end: int = 0


def media_parts(messages: Messages) -> list[MediaPart]:
    """List the parts of a conversation that are images, videos or sounds."""
    return [
        MediaPart(at, number, kind)
        for at, message in enumerate(messages)
        for number, part in enumerate(_content(message))
        if (kind := media_kind(part)) is not None
    ]


def _content(message: Message) -> Sequence[object]:
    content = message.get("content")
    return content if is_list(content) else ()


def media_spans(
    renders: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> tuple[MediaSpan, ...]:
    """Find the parts of `messages` in `text`, their render, in two renders a part."""
    parts = media_parts(messages)
    word = unused_word(renders.template.text + text)
    found: list[MediaSpan] = []
    seen: str | None = text
    for part in reversed(parts):
        marked = renders.attempt(_with_text(messages, part, word), generation=generation)
        messages = _with_text(messages, part, "")
        plain = renders.attempt(messages, generation=generation)
        found.append(_span(part, text, seen, marked, plain, word))
        seen = plain
    return tuple(reversed(found))


def _with_text(messages: Messages, part: MediaPart, text: str) -> list[Message]:
    content = [*_content(messages[part.message])]
    content[part.part] = {"type": "text", "text": text}
    changed: Message = {**messages[part.message], "content": content}
    return [changed if at == part.message else each for at, each in enumerate(messages)]


def _span(
    part: MediaPart, text: str, seen: str | None, marked: str | None, plain: str | None, word: str
) -> MediaSpan:
    """Find a part in `seen`, the render without later parts, and so in the whole `text`."""
    if seen is None:
        return MediaSpan(part)
    stretch = _in_place(seen, marked or "", word) or _added(seen, plain or "")
    core = seen[slice(*stretch)].strip() if stretch else ""
    start = seen.find(core, stretch[0]) if stretch else 0
    if not core or not text.startswith(core, start):
        return MediaSpan(part)
    return MediaSpan(part, start, start + len(core))


def _in_place(seen: str, marked: str, word: str) -> tuple[int, int] | None:
    """Return the stretch that stands where the word stands."""
    if marked.count(word) != 1:
        return None
    before, _, after = marked.partition(word)
    end = len(seen) - len(after)
    right = seen.startswith(before) and seen.endswith(after) and end > len(before)
    return (len(before), end) if right else None


def _added(seen: str, plain: str) -> tuple[int, int] | None:
    """Return the one stretch that a render has more than another, but for whitespace."""
    split = diff_split(plain, seen)
    if not plain or split.left.strip() or not split.right.strip():
        return None
    return len(split.prefix), len(split.prefix) + len(split.right)
