"""Find where in a render the images, videos and sounds of its messages are.

Each part is replaced by a text with an invented word, and then left out, the last part first, so
that earlier parts keep their numbers. The text in the word's place belongs to the part:

    see <image> now      with the image
    see zqxv now         with the word in its place        so the image is `<image>`

A template that moves parts leaves nothing in that place; then the text that the render has in
addition to the one without the part belongs to it. A part that shows in neither way has no stretch.

The placeholder that the analysis found for a kind of part is then searched for in the stretches, or
in the whole text if a stretch does not match: placeholders have the order of their parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.core.error_words import is_list
from autoparser.analysis.core.media_parts import media_kind
from autoparser.analysis.core.media_treatment import MediaSlot, MediaTreatment, PlaceholderPiece
from autoparser.analysis.core.text_alignment import diff_split, replaced_range
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer import EncodedText

from .history_renders import HistoryRenders, Message, Messages
from .rendered_tokens import MediaTokens, RenderedTokens, TokenOwner
from .text_marks import unused_word


@dataclass(frozen=True, slots=True)
class MediaPart:
    """A part of a message's content that is not text."""

    message: int
    """The number of the message, such as `1` after a system message."""
    part: int
    """The number of the part in its content, such as `1` after a text."""
    kind: MediaKind
    """An image, a video or a sound, such as `MediaKind.IMAGE`."""


@dataclass(frozen=True, slots=True)
class MediaSpan:
    """The range of a render that belongs to a part; empty without one."""

    part: MediaPart
    """The part of a message, such as `MediaPart(1, 1, MediaKind.IMAGE)`."""
    start: int = 0
    """The offset of its first character in the render, such as `39`."""
    end: int = 0
    """The offset after its last character, such as `50` if the placeholder `<|picture|>` begins at
    `39`."""


def media_parts(messages: Messages) -> list[MediaPart]:
    """List the parts of a conversation that are images, videos or sounds."""
    return [
        MediaPart(at, number, kind)
        for at, message in enumerate(messages)
        for number, part in enumerate(_content_parts(message))
        if (kind := media_kind(part)) is not None
    ]


def _content_parts(message: Message) -> Sequence[object]:
    content = message.get("content")
    return content if is_list(content) else ()


def media_spans(
    renders: HistoryRenders,
    messages: Messages,
    text: str,
    treatments: Iterable[MediaTreatment],
    *,
    generation: bool,
) -> tuple[MediaSpan, ...]:
    """Locate the parts of `messages` in `text`, their render, with two renders for each part.

    `treatments` has the placeholder of each kind of part.
    """
    parts = media_parts(messages)
    word = unused_word(renders.template.text + text)
    found: list[MediaSpan] = []
    seen: str | None = text
    for part in reversed(parts):
        marked = renders.attempt(_with_texts(messages, part, word), generation=generation)
        # The template may refuse a message without any part.
        alone = len(_content_parts(messages[part.message])) == 1
        messages = _with_texts(messages, part, *([""] if alone else []))
        plain = renders.attempt(messages, generation=generation)
        found.append(_find_span(part, text, seen, marked, plain, word))
        seen = plain
    found.reverse()
    for media in treatments:
        found = _settle_spans(found, text, seen, media)
    return tuple(found)


def _settle_spans(
    spans: Sequence[MediaSpan], text: str, without: str | None, media: MediaTreatment
) -> list[MediaSpan]:
    """Assign each part the placeholder in its range, or the one of its number in the whole text."""
    pattern = _placeholder_pattern(media)
    asked = [span for span in spans if span.part.kind is media.kind]
    if pattern is None or not asked:
        return [*spans]
    inside = [[*pattern.finditer(text, span.start, span.end)] for span in asked]
    if all(len(matches) == 1 for matches in inside):
        places = [matches[0].span() for matches in inside]
    else:
        places = [match.span() for match in pattern.finditer(text)]
        # A placeholder in the render without parts is text of the template or of a user, so that
        # matches cannot be counted off to parts.
        if len(places) != len(asked) or without is None or pattern.search(without):
            return [*spans]
    settled = iter(places)
    return [
        MediaSpan(span.part, *next(settled)) if span.part.kind is media.kind else span
        for span in spans
    ]


def _placeholder_pattern(media: MediaTreatment) -> re.Pattern[str] | None:
    """Return a pattern that matches the placeholders, or None if the kind has none."""
    placeholder = media.placeholder
    if not placeholder or not media.each or PlaceholderPiece(slot=MediaSlot.DATA) in placeholder:
        return None
    # Whitespace at the placeholder's edges separates it from its surroundings.
    first, last = (
        piece.filled({MediaSlot.NUMBER: ""}) for piece in (placeholder[0], placeholder[-1])
    )
    pieces = [r"\d+" if piece.slot else re.escape(piece.filled({})) for piece in placeholder]
    pieces[0] = pieces[0].removeprefix(re.escape(first[: len(first) - len(first.lstrip())]))
    pieces[-1] = pieces[-1].removesuffix(re.escape(last[len(last.rstrip()) :]))
    return re.compile("".join(pieces))


def _with_texts(messages: Messages, part: MediaPart, *texts: str) -> list[Message]:
    """Return messages with texts in place of a part."""
    content = [*_content_parts(messages[part.message])]
    content[part.part : part.part + 1] = [{"type": "text", "text": text} for text in texts]
    changed: Message = {**messages[part.message], "content": content}
    return [changed if at == part.message else message for at, message in enumerate(messages)]


def _find_span(
    part: MediaPart, text: str, render: str | None, marked: str | None, plain: str | None, word: str
) -> MediaSpan:
    """Find a part in `render`, the render without later parts, and so in the whole `text`."""
    if render is None:
        return MediaSpan(part)
    stretch = replaced_range(render, marked or "", word) or _additional_stretch(render, plain or "")
    # The whitespace around a placeholder is the template's, so it stays when other ids replace the
    # placeholder.
    core = render[slice(*stretch)].strip() if stretch else ""
    start = render.find(core, stretch[0]) if stretch else 0
    if not core or not text.startswith(core, start):
        return MediaSpan(part)
    return MediaSpan(part, start, start + len(core))


def _additional_stretch(render: str, plain: str) -> tuple[int, int] | None:
    """Return the only range that a render has in addition to another, whitespace aside."""
    split = diff_split(plain, render)
    if not plain or split.left.strip() or not split.right.strip():
        return None
    return len(split.prefix), len(split.prefix) + len(split.right)


# The tokens of placeholders, and their replacements, e.g. as many as an image has patches.
#
# <start> <pad> <end> by `lambda media: [start, *[pad] * patches[media.part], end]`


Expand: TypeAlias = Callable[[MediaTokens], Sequence[int] | None]
"""Returns the ids that replace a part's placeholder, or None to keep the placeholder."""


def media_tokens(spans: Sequence[MediaSpan], tokens: EncodedText) -> tuple[MediaTokens, ...]:
    """Return the tokens in these ranges, in the order of the text."""
    found: list[MediaTokens] = []
    for span in sorted(spans, key=lambda media: media.start):
        start = tokens.starting_before(span.start)
        end = tokens.ending_by(span.end)
        # A part without a place has the span from 0 to 0, which contains no token.
        if start < end and span.end:
            part = span.part
            ids = tuple(tokens.ids[start:end])
            found.append(MediaTokens(part.message, part.part, part.kind, start, end, ids))
    return tuple(found)


def check_placed(spans: Sequence[MediaSpan], placed: Sequence[MediaTokens]) -> None:
    """Raise RequestError for the first part without tokens."""
    known = {(media.message, media.part) for media in placed}
    for span in spans:
        part = span.part
        if (part.message, part.part) not in known:
            raise RequestError(
                f"the prompt has no tokens for this {part.kind}",
                place=f"messages[{part.message}].content[{part.part}]",
                hint="the template drops it, or writes it together with others:"
                " 'autoparser analyze' shows which",
            )


def expand_placeholders(rendered: RenderedTokens, expand: Expand) -> RenderedTokens:
    """Replace placeholders by other ids, which take the facts of the placeholder's first token."""
    media: list[MediaTokens] = []
    shift = 0
    for part in rendered.media:
        wanted = expand(part)
        ids = part.token_ids if wanted is None else tuple(wanted)
        start, end = part.start + shift, part.end + shift
        token_ids = (*rendered.token_ids[:start], *ids, *rendered.token_ids[end:])
        owners = _stretch_owner(rendered.owners, start, end, len(ids))
        rendered = replace(rendered, token_ids=token_ids, owners=owners)
        media.append(replace(part, start=start, end=start + len(ids)))
        shift += len(ids) - (end - start)
    return replace(rendered, media=tuple(media))


def _stretch_owner(
    owners: Sequence[TokenOwner], start: int, end: int, length: int
) -> tuple[TokenOwner, ...]:
    """Replace the owners from `start` to `end` by `length` times the one at `start`."""
    owner = next(_owners_between(owners, start, end))
    before, behind = _owners_between(owners, 0, start), _owners_between(owners, end, None)
    return (*before, owner._replace(length=length), *behind)


def _owners_between(
    owners: Sequence[TokenOwner], start: int, end: int | None
) -> Iterator[TokenOwner]:
    """Return the owners of the tokens from `start` to `end`."""
    at = 0
    for owner in owners:
        until = at + owner.length
        count = (until if end is None else min(until, end)) - max(at, start)
        if count > 0:
            yield owner._replace(length=count)
        at = until
