"""A prompt as token ids, and whose each token is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat, starmap
from typing import NamedTuple, TypeVar

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


_Told = TypeVar("_Told")


class TokenOwner(NamedTuple):
    """Whose so many tokens are that stand side by side."""

    length: int
    message: int
    """The number of the message; -1 where they are the template's own."""
    content: bool
    sampled: bool
    loss: bool


@dataclass(frozen=True)
class RenderedTokens:
    """Token ids, and for each of them where it came from; all are as long as each other.

    A token may hold characters of two owners. The rule: it belongs to the message of its first
    character; it is content if any of its characters is; it is sampled only if all of them are,
    since a model that is given the first part does not write that token.
    """

    token_ids: tuple[int, ...]
    owners: tuple[TokenOwner, ...]
    """Whose the tokens are, stretch by stretch: what is told of each token comes from it."""
    notes: tuple[str, ...] = ()
    """What a bridge has kept that a render of the whole conversation would not have."""
    media: tuple[MediaTokens, ...] = ()
    """What stands for images, videos and sounds, in the order of the tokens. A part that has no one
    stretch of the prompt is not here."""

    def __len__(self) -> int:
        return len(self.token_ids)

    @cached_property
    def message_indices(self) -> tuple[int, ...]:
        """The number of the message; -1 where the token is the template's own."""
        return _each_token((each.message, each.length) for each in self.owners)

    @cached_property
    def is_content(self) -> tuple[bool, ...]:
        """Whether it holds text that the message brought, not what the template wrote around it."""
        return _each_token((each.content, each.length) for each in self.owners)

    @cached_property
    def sampled(self) -> tuple[bool, ...]:
        """Whether the model writes it. The stop token is in, what the prompt writes is not."""
        return _each_token((each.sampled, each.length) for each in self.owners)

    @cached_property
    def loss_mask(self) -> tuple[bool, ...]:
        """What a loss counts: what `{% generation %}` marks where it is, else what is sampled."""
        return _each_token((each.loss, each.length) for each in self.owners)


def _each_token(stretches: Iterable[tuple[_Told, int]]) -> tuple[_Told, ...]:
    """Repeat what is told of each stretch for so many tokens."""
    return tuple(chain.from_iterable(starmap(repeat, stretches)))


def own_tokens(attributed: Attributed, tokens: Encoded, first: int = 0) -> RenderedTokens:
    """Return each token of a text its owner.

    `first` is where the text begins in that which the tokens' places count in.
    """
    owners: list[TokenOwner] = []
    segments = attributed.segments
    at, length = 0, len(tokens.ids)
    for order, segment in enumerate(segments):
        end = segment.end + first
        # All tokens that end in a segment lie in it, but for the first: it may begin before.
        until = max(at, tokens.ending_by(end))
        if until > at:
            whose = segment.message, segment.content, segment.sampled, segment.loss
            owners.append(TokenOwner(until - at, *whose))
        if until < length and tokens.start(until) < end:
            under = _under(segments, order, tokens.end(until) - first)
            owners.append(
                TokenOwner(
                    1,
                    segment.message,
                    any(each.content for each in under),
                    all(each.sampled for each in under),
                    all(each.loss for each in under),
                )
            )
            until += 1
        at = until
    return RenderedTokens(tuple(tokens.ids), tuple(owners))


def _under(segments: Sequence[Segment], at: int, end: int) -> Sequence[Segment]:
    """Return the segments that a token touches, the one at `at` first."""
    last = at + 1
    while last < len(segments) and segments[last].start < end:
        last += 1
    return segments[at:last]
