"""The tokens of placeholders, and other ids in their place: as many as an image has.

<start> <pad> <end>   by `lambda media: [start, *[pad] * patches[media.part], end]`
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from autoparser.analysis.loading.tokens import Encoded
from autoparser.analysis.reading.expression import RequestError

from .media_spans import MediaSpan
from .prompt_tokens import MediaTokens, RenderedTokens

Expand: TypeAlias = Callable[[MediaTokens], Sequence[int] | None]
"""Says which ids stand for a part in the place of its placeholder's; None leaves those."""

_Value = TypeVar("_Value")


def media_tokens(spans: Sequence[MediaSpan], tokens: Encoded) -> tuple[MediaTokens, ...]:
    """Return the tokens that lie in these stretches, in the order of the text."""
    found: list[MediaTokens] = []
    for span in sorted(spans, key=lambda each: each.start):
        start = bisect_left(tokens.starts, span.start)
        end = bisect_right(tokens.ends, span.end)
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


def expanded(rendered: RenderedTokens, expand: Expand) -> RenderedTokens:
    """Put other ids in the place of placeholders; each is as its placeholder's first token was."""
    media: list[MediaTokens] = []
    shift = 0
    for each in rendered.media:
        wanted = expand(each)
        ids = each.token_ids if wanted is None else tuple(wanted)
        start, end = each.start + shift, each.end + shift
        rendered = replace(
            rendered,
            token_ids=(*rendered.token_ids[:start], *ids, *rendered.token_ids[end:]),
            message_indices=_stretched(rendered.message_indices, start, end, len(ids)),
            is_content=_stretched(rendered.is_content, start, end, len(ids)),
            sampled=_stretched(rendered.sampled, start, end, len(ids)),
            loss_mask=_stretched(rendered.loss_mask, start, end, len(ids)),
        )
        media.append(replace(each, start=start, end=start + len(ids)))
        shift += len(ids) - (end - start)
    return replace(rendered, media=tuple(media))


def _stretched(values: tuple[_Value, ...], start: int, end: int, length: int) -> tuple[_Value, ...]:
    return (*values[:start], *(values[start : start + 1] * length), *values[end:])
