"""A prompt as token ids, and whose each token is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .attribution import Attributed, Segment
from .shares import TEMPLATE
from .vocabulary import Token


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

    def __len__(self) -> int:
        return len(self.token_ids)


def own_tokens(attributed: Attributed, tokens: Sequence[Token]) -> RenderedTokens:
    """Give each token of a text its owner."""
    messages: list[int] = []
    content: list[bool] = []
    sampled: list[bool] = []
    loss: list[bool] = []
    segments = attributed.segments
    at = 0
    for token in tokens:
        while at < len(segments) - 1 and segments[at].end <= token.start:
            at += 1
        under = _under(segments, at, token.end)
        messages.append(under[0].message if under else TEMPLATE)
        content.append(any(segment.content for segment in under))
        sampled.append(bool(under) and all(segment.sampled for segment in under))
        loss.append(bool(under) and all(segment.loss for segment in under))
    ids = tuple(token.id for token in tokens)
    return RenderedTokens(ids, tuple(messages), tuple(content), tuple(sampled), tuple(loss))


def _under(segments: Sequence[Segment], at: int, end: int) -> Sequence[Segment]:
    """Give the segments that a token touches, the one at `at` first."""
    last = at + 1
    while last < len(segments) and segments[last].start < end:
        last += 1
    return segments[at:last]
