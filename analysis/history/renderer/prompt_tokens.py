"""A prompt as token ids, and whose each token is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.loading.tokens import Encoded

from .attribution import Attributed, Segment


@dataclass(frozen=True, slots=True)
class MediaTokens:
    """The tokens that stand for an image, a video or a sound of a message."""

    message: int
    """The number of the message."""
    part: int
    """The number of the part in the message's content."""
    kind: MediaKind
    start: int
    end: int
    """After the last of its tokens."""
    token_ids: tuple[int, ...]
    """Those of the placeholder, as the template writes it."""


@dataclass(frozen=True, slots=True)
class RenderedTokens:
    """Token ids, and for each of them where it came from; all are as long as each other.

    A token may hold characters of two owners. The rule: it belongs to the message of its first
    character; it is content if any of its characters is; it is sampled only if all of them are,
    since a model that is given the first part does not write that token.
    """

    token_ids: tuple[int, ...]
    message_indices: tuple[int, ...]
    """The number of the message; -1 where the token is the template's own."""
    is_content: tuple[bool, ...]
    """Whether it holds text that the message brought, not what the template wrote around it."""
    sampled: tuple[bool, ...]
    """Whether the model writes it. The stop token is in, what the prompt writes is not."""
    loss_mask: tuple[bool, ...]
    """What a loss counts: what `{% generation %}` marks in a template that has it, else what is
    sampled."""
    notes: tuple[str, ...] = ()
    """What a bridge has kept that a render of the whole conversation would not have."""
    media: tuple[MediaTokens, ...] = ()
    """What stands for images, videos and sounds, in the order of the tokens. A part that has no one
    stretch of the prompt is not here."""

    def __len__(self) -> int:
        return len(self.token_ids)


def own_tokens(attributed: Attributed, tokens: Encoded, first: int = 0) -> RenderedTokens:
    """Return each token of a text its owner.

    `first` is where the text begins in that which the tokens' places count in.
    """
    messages: list[int] = []
    content: list[bool] = []
    sampled: list[bool] = []
    loss: list[bool] = []
    segments = attributed.segments
    at = 0
    for order, segment in enumerate(segments):
        end = segment.end + first
        if at < len(tokens.ids) and tokens.starts[at] >= end:
            continue
        # All tokens that end in a segment lie in it, but for the first: it may begin before.
        until = bisect_right(tokens.ends, end, at)
        inside = until - at
        messages += [segment.message] * inside
        content += [segment.content] * inside
        sampled += [segment.sampled] * inside
        loss += [segment.loss] * inside
        if until < len(tokens.ids) and tokens.starts[until] < end:
            under = _under(segments, order, tokens.ends[until] - first)
            messages.append(segment.message)
            content.append(any(each.content for each in under))
            sampled.append(all(each.sampled for each in under))
            loss.append(all(each.loss for each in under))
            until += 1
        at = until
    return RenderedTokens(
        tuple(tokens.ids), tuple(messages), tuple(content), tuple(sampled), tuple(loss)
    )


def _under(segments: Sequence[Segment], at: int, end: int) -> Sequence[Segment]:
    """Return the segments that a token touches, the one at `at` first."""
    last = at + 1
    while last < len(segments) and segments[last].start < end:
        last += 1
    return segments[at:last]
