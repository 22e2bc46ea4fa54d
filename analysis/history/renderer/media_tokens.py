"""The tokens of placeholders, and other ids in their place: as many as an image has.

<start> <pad> <end>   by `lambda media: [start, *[pad] * patches[media.part], end]`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from autoparser.analysis.loading.tokens import Encoded
from autoparser.analysis.reading.expression import RequestError

from .media_spans import MediaSpan
from .prompt_tokens import MediaTokens, RenderedTokens, TokenOwner

Expand: TypeAlias = Callable[[MediaTokens], Sequence[int] | None]
"""Says which ids stand for a part in the place of its placeholder's; None leaves those."""


def media_tokens(spans: Sequence[MediaSpan], tokens: Encoded) -> tuple[MediaTokens, ...]:
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


def expanded(rendered: RenderedTokens, expand: Expand) -> RenderedTokens:
    """Put other ids in the place of placeholders; each is as its placeholder's first token was."""
    media: list[MediaTokens] = []
    shift = 0
    for each in rendered.media:
        wanted = expand(each)
        ids = each.token_ids if wanted is None else tuple(wanted)
        start, end = each.start + shift, each.end + shift
        token_ids = (*rendered.token_ids[:start], *ids, *rendered.token_ids[end:])
        owners = _stretched(rendered.owners, start, end, len(ids))
        rendered = replace(rendered, token_ids=token_ids, owners=owners)
        media.append(replace(each, start=start, end=start + len(ids)))
        shift += len(ids) - (end - start)
    return replace(rendered, media=tuple(media))


def _stretched(
    owners: Sequence[TokenOwner], start: int, end: int, length: int
) -> tuple[TokenOwner, ...]:
    """Let the owner of the token at `start` have so many in the place of those up to `end`."""
    owner = next(_part(owners, start, end))
    before, behind = _part(owners, 0, start), _part(owners, end, None)
    return (*before, owner._replace(length=length), *behind)


def _part(owners: Sequence[TokenOwner], start: int, end: int | None) -> Iterator[TokenOwner]:
    """Return the owners of the tokens from `start` to `end`."""
    at = 0
    for owner in owners:
        until = at + owner.length
        count = (until if end is None else min(until, end)) - max(at, start)
        if count > 0:
            yield owner._replace(length=count)
        at = until
