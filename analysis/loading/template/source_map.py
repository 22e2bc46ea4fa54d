"""Which place of a template's text wrote each stretch of a render.

A view of the pieces that a `TraceRecorder` notes: what a macro or a block `set` writes is of the
place that puts it out. For example

    {% for m in messages %}<{{ m.role }}>{% endfor %}

writes `<user>` from three places: `<`, `{{ m.role }}` and `>`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

from .render_trace import PromptPiece, TemplateSite

__all__ = ["SourceMap", "SourceSpan", "source_map"]


class SourceSpan(NamedTuple):
    """A stretch of a rendered text, and the place of the template's text that wrote it."""

    text: str
    start: int
    """Characters from the beginning of the template's text, each line of it ended by one newline;
    with `end` 0 where the place is not known."""
    end: int
    line: int | None
    """From 1; None where it is not known."""


@dataclass(frozen=True, slots=True)
class SourceMap:
    """A whole render, stretch by stretch."""

    spans: tuple[SourceSpan, ...] = ()

    def span_at(self, at: int) -> SourceSpan | None:
        """Return the stretch that holds the character at a place; None outside the render."""
        here = bisect_right([*accumulate(len(span.text) for span in self.spans)], at)
        return self.spans[here] if at >= 0 and here < len(self.spans) else None

    def line_at(self, at: int) -> int | None:
        """Return the template's line that wrote the character at a place of the render.

        None outside the render, and where it is not known.
        """
        span = self.span_at(at)
        return None if span is None else span.line

    def line_of(self, text: str) -> int | None:
        """Return the template's line that wrote the beginning of a text; None: it is not there."""
        at = "".join(span.text for span in self.spans).find(text)
        return None if at < 0 else self.line_at(at)


def source_map(pieces: Sequence[PromptPiece], sites: Sequence[TemplateSite]) -> SourceMap:
    """Put together what the same place put out, one piece after the other."""
    spans: list[SourceSpan] = []
    for number, several in groupby(pieces, _putting_out):
        text = "".join(piece.text for piece in several)
        site = None if number is None else sites[number]
        if site is None:
            spans.append(SourceSpan(text, 0, 0, None))
        else:
            spans.append(SourceSpan(text, site.start, site.end, site.line))
    return SourceMap(tuple(spans))


def _putting_out(piece: PromptPiece) -> int | None:
    return piece.through[-1] if piece.through else piece.site
