"""Find where in a render the images, videos and sounds of its messages are.

Each part is replaced by a text with an invented word, and then left out, the last part first, so
that the numbers of those before it stay. What stands where the word stood is the part's:

    see <image> now      with the image
    see zqxv now         with the word in its place        so the image is `<image>`

Where the template moves parts, nothing stands there; then what the render has more than the one
without the part is the part's. A part of which neither is so has no stretch.

What the analysis says to stand for each part of a kind is then looked for in the stretches, and in
the whole text where a stretch is no such thing: the parts' placeholders stand in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from autoparser.analysis.core.conversation import MediaKind, media_kind
from autoparser.analysis.core.errors import is_list
from autoparser.analysis.core.text_alignment import diff_split
from autoparser.analysis.core.text_format import MediaSlot, MediaTreatment, PlaceholderPiece
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer import EncodedText

from .history_renders import HistoryRenders, Message, Messages
from .prompt_tokens import MediaTokens, RenderedTokens, TokenOwner
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
    """The stretch of a render that stands for a part, or empty if there is no such stretch."""

    part: MediaPart
    start: int = 0
    end: int = 0


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
    """Find the parts of `messages` in `text`, their render, in two renders a part.

    `treatments` says what stands for the parts of each kind.
    """
    parts = media_parts(messages)
    word = unused_word(renders.template.text + text)
    found: list[MediaSpan] = []
    seen: str | None = text
    for part in reversed(parts):
        marked = renders.attempt(_with_texts(messages, part, word), generation=generation)
        # A message without any part may be refused.
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
    """Give each part of a kind the one placeholder in its stretch, or its own of the whole text."""
    pattern = _placeholder_pattern(media)
    asked = [span for span in spans if span.part.kind is media.kind]
    if pattern is None or not asked:
        return [*spans]
    inside = [[*pattern.finditer(text, each.start, each.end)] for each in asked]
    if all(len(matches) == 1 for matches in inside):
        places = [matches[0].span() for matches in inside]
    else:
        places = [match.span() for match in pattern.finditer(text)]
        if len(places) != len(asked) or without is None or pattern.search(without):
            return [*spans]
    settled = iter(places)
    return [
        MediaSpan(span.part, *next(settled)) if span.part.kind is media.kind else span
        for span in spans
    ]


def _placeholder_pattern(media: MediaTreatment) -> re.Pattern[str] | None:
    """Return what finds the placeholder of each part, or None if there is no such text."""
    placeholder = media.placeholder
    if not placeholder or not media.each or PlaceholderPiece(slot=MediaSlot.DATA) in placeholder:
        return None
    # Whitespace at its edges parts it from what is around it.
    first, last = (
        each.filled({MediaSlot.NUMBER: ""}) for each in (placeholder[0], placeholder[-1])
    )
    pieces = [r"\d+" if each.slot else re.escape(each.filled({})) for each in placeholder]
    pieces[0] = pieces[0].removeprefix(re.escape(first[: len(first) - len(first.lstrip())]))
    pieces[-1] = pieces[-1].removesuffix(re.escape(last[len(last.rstrip()) :]))
    return re.compile("".join(pieces))


def _with_texts(messages: Messages, part: MediaPart, *texts: str) -> list[Message]:
    """Return messages with texts in the place of a part."""
    content = [*_content_parts(messages[part.message])]
    content[part.part : part.part + 1] = [{"type": "text", "text": text} for text in texts]
    changed: Message = {**messages[part.message], "content": content}
    return [changed if at == part.message else each for at, each in enumerate(messages)]


def _find_span(
    part: MediaPart, text: str, render: str | None, marked: str | None, plain: str | None, word: str
) -> MediaSpan:
    """Find a part in `render`, the render without later parts, and so in the whole `text`."""
    if render is None:
        return MediaSpan(part)
    stretch = _stretch_in_place(render, marked or "", word) or _additional_stretch(
        render, plain or ""
    )
    core = render[slice(*stretch)].strip() if stretch else ""
    start = render.find(core, stretch[0]) if stretch else 0
    if not core or not text.startswith(core, start):
        return MediaSpan(part)
    return MediaSpan(part, start, start + len(core))


def _stretch_in_place(render: str, marked: str, word: str) -> tuple[int, int] | None:
    """Return the stretch that stands where the word stands."""
    if marked.count(word) != 1:
        return None
    before, _, after = marked.partition(word)
    end = len(render) - len(after)
    right = render.startswith(before) and render.endswith(after) and end > len(before)
    return (len(before), end) if right else None


def _additional_stretch(render: str, plain: str) -> tuple[int, int] | None:
    """Return the one stretch that a render has more than another, but for whitespace."""
    split = diff_split(plain, render)
    if not plain or split.left.strip() or not split.right.strip():
        return None
    return len(split.prefix), len(split.prefix) + len(split.right)


# The tokens of placeholders, and other ids in their place: as many as an image has.
#
# <start> <pad> <end> by `lambda media: [start, *[pad] * patches[media.part], end]`


Expand: TypeAlias = Callable[[MediaTokens], Sequence[int] | None]
"""Says which ids stand for a part in the place of its placeholder's; None leaves those."""


def media_tokens(spans: Sequence[MediaSpan], tokens: EncodedText) -> tuple[MediaTokens, ...]:
    """Return the tokens that lie in these stretches, in the order of the text."""
    found: list[MediaTokens] = []
    for span in sorted(spans, key=lambda each: each.start):
        start = tokens.starting_before(span.start)
        end = tokens.ending_by(span.end)
        if start < end and span.end:
            part = span.part
            ids = tuple(tokens.ids[start:end])
            found.append(MediaTokens(part.message, part.part, part.kind, start, end, ids))
    return tuple(found)


def check_placed(spans: Sequence[MediaSpan], placed: Sequence[MediaTokens]) -> None:
    """Raise RequestError for the first part for which no tokens stand."""
    known = {(each.message, each.part) for each in placed}
    for span in spans:
        part = span.part
        if (part.message, part.part) not in known:
            raise RequestError(
                f"no tokens of the prompt stand for this {part.kind}",
                place=f"messages[{part.message}].content[{part.part}]",
                hint="the template drops it, or writes it together with others:"
                " 'autoparser analyze' says which",
            )


def expand_placeholders(rendered: RenderedTokens, expand: Expand) -> RenderedTokens:
    """Put other ids in the place of placeholders; each is as its placeholder's first token was."""
    media: list[MediaTokens] = []
    shift = 0
    for each in rendered.media:
        wanted = expand(each)
        ids = each.token_ids if wanted is None else tuple(wanted)
        start, end = each.start + shift, each.end + shift
        token_ids = (*rendered.token_ids[:start], *ids, *rendered.token_ids[end:])
        owners = _stretch_owner(rendered.owners, start, end, len(ids))
        rendered = replace(rendered, token_ids=token_ids, owners=owners)
        media.append(replace(each, start=start, end=start + len(ids)))
        shift += len(ids) - (end - start)
    return replace(rendered, media=tuple(media))


def _stretch_owner(
    owners: Sequence[TokenOwner], start: int, end: int, length: int
) -> tuple[TokenOwner, ...]:
    """Let the owner of the token at `start` have so many in the place of those up to `end`."""
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
