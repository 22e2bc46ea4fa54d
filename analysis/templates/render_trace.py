"""What happened in one render: who wrote each piece, what was tested, and with which values.

Contract: the texts of `RenderTrace.pieces` put together are the prompt, up to where the render
ended. Values are words already, of a bounded length; what a template holds stands in them as it is.

Which place of a template's text wrote each stretch of a render.

A view of the pieces that a `TraceRecorder` notes: what a macro or a block `set` writes is of the
place that puts it out. For example

    {% for m in messages %}<{{ m.role }}>{% endfor %}

writes `<user>` from three places: `<`, `{{ m.role }}` and `>`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate, groupby
from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.documents import Count
from autoparser.analysis.core.errors import TemplateRenderError


class StepKind(StrEnum):
    """What a place of a template does."""

    WRITE = "write"
    """It writes a text, or the value of an expression."""
    TEST = "test"
    """It decides: an `if`, an `elif`, the `if` inside an expression or of a loop."""
    LOOP = "loop"
    """It begins a loop."""
    PASS = "pass"  # noqa: S105 - one of a loop's
    """It goes once through a loop's body."""
    SET = "set"
    """It sets a variable."""


class TemplateSite(Struct, frozen=True):
    """A place of a template that does something."""

    kind: StepKind
    """What the place does."""
    line: int
    """From 1."""
    start: int
    """Characters from the beginning of the text, each line of it ended by one newline."""
    end: int
    """After its last character; as `start` where the place is not known."""
    within: int | None
    """The number of the test or the loop that decides whether it runs; None: nothing does."""


class SeenValue(Struct, frozen=True):
    """What a name stood for when it was asked for."""

    name: str
    """As a template spells it: ``message.role``."""
    words: str
    """Its value."""


class TraceStep(Struct, frozen=True):
    """Something that a template did."""

    kind: StepKind
    """What was done."""
    site: Count
    """The number of its place."""
    words: str
    """What came of it: the value that was written, tested or set; of a pass what the loop is at."""
    held: bool | None
    """Whether a test held, or None if nothing was tested."""
    number: Count
    """Of a pass, which of its loop, from 1; else 0."""
    seen: tuple[SeenValue, ...]
    """What its names stood for, in the order in which they were asked for."""


class PromptPiece(Struct, frozen=True):
    """A stretch of the prompt."""

    text: str
    """E.g. `"<|im_start|>user"`."""
    site: int | None
    """The number of the place that wrote it, or None if it is not known."""
    through: tuple[int, ...]
    """Numbers of the places that put out what was written elsewhere, the last one first: those of
    ``{{ macro() }}``, of ``{{ text }}`` after ``{% set text %}…``."""
    after: int
    """How many steps had been made when it was written."""


class OpenSite(Struct, frozen=True):
    """A place whose work was not done when the render ended."""

    site: Count
    """The number of its place."""
    seen: tuple[SeenValue, ...]
    """The values of its names so far."""


class RenderTrace(Struct, frozen=True):
    """One render, step by step."""

    text: str
    """The template's text, each line of it ended by one newline."""
    sites: tuple[TemplateSite, ...]
    """The places of the template; steps and pieces refer to them by index."""
    pieces: tuple[PromptPiece, ...]
    """The prompt, cut where another place wrote on."""
    steps: tuple[TraceStep, ...]
    """The steps in the order in which they were made."""
    left_out: int
    """How many more steps were made than are kept."""
    failure: TemplateRenderError | None
    """Why the render ended before its time; None: it did not."""
    ended_in: tuple[OpenSite, ...]
    """What was at work when it failed, the innermost last."""

    @property
    def prompt(self) -> str:
        """What was written."""
        return "".join(piece.text for piece in self.pieces)

    def source(self, site: int) -> str:
        """Return the text of a place; the empty text where it is not known."""
        place = self.sites[site]
        return self.text[place.start : place.end]

    def reasons(self, piece: PromptPiece) -> tuple[TraceStep, ...]:
        """Return the tests and loops that let a piece be written, the outermost first.

        Each with what it was when that was decided; those of macros are those inside the macro.
        """
        found: list[TraceStep] = []
        site = None if piece.site is None else self.sites[piece.site].within
        at = min(piece.after, len(self.steps))
        while site is not None:
            kinds = {StepKind.PASS, StepKind.TEST}
            numbers = (number for number in range(at - 1, -1, -1))
            last = next(
                (n for n in numbers if self.steps[n].site == site and self.steps[n].kind in kinds),
                None,
            )
            if last is not None:
                found.append(self.steps[last])
            site = self.sites[site].within
        return tuple(reversed(found))


class SourceSpan(NamedTuple):
    """A stretch of a rendered text, and the place of the template's text that wrote it."""

    text: str
    """E.g. `"user"`, written by `{{ m.role }}`."""
    start: int
    """Characters from the beginning of the template's text, each line of it ended by one newline;
    with `end` 0 where the place is not known."""
    end: int
    """After the last character of the place."""
    line: int | None
    """From 1, or None if it is not known."""


class SourceMap(Struct, frozen=True):
    """A whole render, stretch by stretch."""

    spans: tuple[SourceSpan, ...] = ()
    """The stretches; together their texts are the render."""

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
        """Return the template's line that wrote the beginning of a text, or None."""
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
