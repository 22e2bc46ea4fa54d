"""Prompts as token ids with the owner of each token.

`own_tokens` makes `RenderedTokens` from an attributed text and its tokens. With one token for each
marker and each letter, a user's "Hi" and an assistant's "Yes." give

    text          <u> H i </s>  <a> Y e s . </s>
    owners        message 0: 1 + 2 + 1 tokens; message 1: 1 + 4 + 1 tokens
    loss_mask     0 0 0 0       0 1 1 1 1 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat, starmap
from typing import NamedTuple, TypeVar

from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.sources.tokenizer import EncodedText

from .message_attribution import Attributed, Segment


@dataclass(frozen=True, slots=True)
class MediaTokens:
    """The tokens that stand for an image, a video or a sound of a message."""

    message: int
    """The number of the message, such as `1`."""
    part: int
    """The number of the part in the message's content, such as `1`."""
    kind: MediaKind
    """An image, a video or a sound, such as `MediaKind.IMAGE`."""
    start: int
    """The index of the first of its tokens, such as `39`."""
    end: int
    """The index after the last of its tokens, such as `50`."""
    token_ids: tuple[int, ...]
    """The ids of the placeholder that the template writes, such as
    `(60, 124, 112, 105, 99, 116, 117, 114, 101, 124, 62)` for `<|picture|>`, written in bytes."""


_Fact = TypeVar("_Fact")


class TokenOwner(NamedTuple):
    """The owner of a run of adjacent tokens."""

    length: int
    """The number of tokens in the run, such as `1251` for the list of tools."""
    message: int
    """The index of the message, or -1 if they are the template's own."""
    content: bool
    """Whether they have text of the message, such as `"Hi"`."""
    sampled: bool
    """Whether the model writes them, up to its stop, such as `"<|im_end|>"`."""
    loss: bool
    """Whether a loss counts them."""


@dataclass(frozen=True, repr=False)
class RenderedTokens:
    """Token ids, and the origin of each; all sequences have the same length.

    A token may have characters of two owners. It belongs to the message of its first character; it
    is content if any of its characters is; it is sampled only if all of them are, since a model
    that was given the first part does not write that token.
    """

    token_ids: tuple[int, ...]
    """The ids, in the order of the text, such as `(198, 261, 84, 82, …)`."""
    owners: tuple[TokenOwner, ...]
    """The owners of the tokens, run by run, such as
    `(TokenOwner(1, -1, False, False, False), TokenOwner(6, 0, False, False, False), …)`; the facts
    of each token come from it."""
    notes: tuple[str, ...] = ()
    """The text that a bridge kept and a render of the whole conversation would not have, such as
    `("kept, although the template drops reasoning from the history: of an earlier turn",)`."""
    media: tuple[MediaTokens, ...] = ()
    """The tokens of images, videos and sounds, sorted by position, such as those at `39` to `50`. A
    part without a range of its own in the prompt is left out."""

    def __len__(self) -> int:
        return len(self.token_ids)

    def __repr__(self) -> str:
        """Return how many there are, and how many a loss counts, in one line."""
        return f"<{type(self).__name__}: {len(self)}, {sum(self.loss_mask)} in the loss mask>"

    @cached_property
    def message_indices(self) -> tuple[int, ...]:
        """By token: the index of its message, or -1 if it is the template's own."""
        return _repeat_facts((owner.message, owner.length) for owner in self.owners)

    @cached_property
    def is_content(self) -> tuple[bool, ...]:
        """By token: whether it has text of the message, not only text written around it."""
        return _repeat_facts((owner.content, owner.length) for owner in self.owners)

    @cached_property
    def sampled(self) -> tuple[bool, ...]:
        """By token: whether the model writes it, stop token included and prompt excluded."""
        return _repeat_facts((owner.sampled, owner.length) for owner in self.owners)

    @cached_property
    def loss_mask(self) -> tuple[bool, ...]:
        """By token: whether a loss counts it, by `{% generation %}` if present, else if sampled."""
        return _repeat_facts((owner.loss, owner.length) for owner in self.owners)


def _repeat_facts(stretches: Iterable[tuple[_Fact, int]]) -> tuple[_Fact, ...]:
    """Repeat the fact of each run for its number of tokens."""
    return tuple(chain.from_iterable(starmap(repeat, stretches)))


def own_tokens(attributed: Attributed, tokens: EncodedText, first: int = 0) -> RenderedTokens:
    """Assign each token of a text its owner.

    `first` is the offset of the attributed text within the encoded text.
    """
    owners: list[TokenOwner] = []
    segments = attributed.segments
    at, length = 0, len(tokens.ids)
    for order, segment in enumerate(segments):
        end = segment.end + first
        # All tokens that end in a segment lie inside it, except that the first may begin before it.
        until = max(at, tokens.ending_by(end))
        if until > at:
            whose = segment.message, segment.content, segment.sampled, segment.loss
            owners.append(TokenOwner(until - at, *whose))
        # This token begins in the segment and ends in a later one.
        if until < length and tokens.start(until) < end:
            under = _touched_segments(segments, order, tokens.end(until) - first)
            owners.append(
                TokenOwner(
                    1,
                    segment.message,
                    any(segment.content for segment in under),
                    all(segment.sampled for segment in under),
                    all(segment.loss for segment in under),
                )
            )
            until += 1
        at = until
    return RenderedTokens(tuple(tokens.ids), tuple(owners))


def _touched_segments(segments: Sequence[Segment], at: int, end: int) -> Sequence[Segment]:
    """Return the segments that a token touches, the one at `at` first."""
    last = at + 1
    while last < len(segments) and segments[last].start < end:
        last += 1
    return segments[at:last]
