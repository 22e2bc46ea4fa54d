"""Values that describe one render: its pieces with their origin, its tests, loops and values.

Contract: the texts of `RenderTrace.pieces` join to the prompt, up to the place where the render
ended. Values are described in a bounded number of characters; their text is not escaped.

`SourceMap` is a shorter view of the same pieces: text that a macro or a block `set` writes is
attributed to the place that outputs it. For example

    {% for m in messages %}<{{ m.role }}>{% endfor %}

writes `<user>` from three places: `<`, `{{ m.role }}` and `>`.

    source_map(trace.pieces, trace.sites)
    ->  SourceSpan("<", 23, 24, 1), SourceSpan("user", 24, 36, 1), SourceSpan(">", 36, 37, 1)
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
    """The actions of a template's places."""

    WRITE = "write"
    """Writes a text, or the value of an expression."""
    TEST = "test"
    """Tests a condition: `if`, `elif`, the `if` of an expression or a loop."""
    LOOP = "loop"
    """Begins a loop."""
    PASS = "pass"  # noqa: S105 - one of a loop's
    """Runs the body of a loop once."""
    SET = "set"
    """Sets a variable."""


class TemplateSite(Struct, frozen=True):
    """A place of a template that does something."""

    kind: StepKind
    """The action of the place, e.g. `StepKind.WRITE` for `{{ m.role }}`."""
    line: int
    """From 1, e.g. 1."""
    start: int
    """Offset in the source with line ends of one newline, e.g. 23 in `{% for m in messages %}{{
    m.role }}`."""
    end: int
    """After its last character, e.g. 35 there; equal to `start` if the place is unknown."""
    within: int | None
    """The index of the test or loop that decides whether it runs, e.g. 0 for the loop there, or
    None at the top level."""


class SeenValue(Struct, frozen=True):
    """The value of a name when it was read."""

    name: str
    """The name as the template spells it, e.g. `"message.role"`."""
    words: str
    """Its value in few words, e.g. `"'user'"`."""


class TraceStep(Struct, frozen=True):
    """One action of a template."""

    kind: StepKind
    """The action, e.g. `"test"`."""
    site: Count
    """The index of its place, e.g. 3."""
    words: str
    """The value that was written, tested or set, e.g. `"'Hi'"`; for a pass, the item of the loop.
    """
    held: bool | None
    """The outcome of a test, e.g. True for `{% if m.content %}`, or None for any other step."""
    number: Count
    """The number of a pass within its loop, from 1, e.g. 2 for the second message; else 0."""
    seen: tuple[SeenValue, ...]
    """The values of its names, in the order of reading, e.g. `"'Hi'"` for `"m.content"`."""


class PromptPiece(Struct, frozen=True):
    """A stretch of the prompt."""

    text: str
    """E.g. `"<|im_start|>user"`."""
    site: int | None
    """The index of the place that wrote it, e.g. 4, or None if unknown."""
    through: tuple[int, ...]
    """The places that output text written elsewhere, the last one first: those of ``{{ macro()
    }}``, or of ``{{ text }}`` after ``{% set text %}…``."""
    after: int
    """The number of steps before it was written, e.g. 5."""


class OpenSite(Struct, frozen=True):
    """A place whose work was not done when the render ended."""

    site: Count
    """The index of its place, e.g. 1."""
    seen: tuple[SeenValue, ...]
    """The values of its names so far, e.g. `"'user'"` for `"m.role"`."""


class RenderTrace(Struct, frozen=True):
    """One render, step by step."""

    text: str
    r"""The template's text, each line of it ended by one newline, e.g. `"{% for m in messages
    %}\n…"`."""
    sites: tuple[TemplateSite, ...]
    """The places of the template, e.g. the loop, then `{{ m.role }}` in it; steps and pieces refer
    to them by index."""
    pieces: tuple[PromptPiece, ...]
    """The prompt, cut where another place wrote on, e.g. `"user"`, `":"` and `"Hi"`."""
    steps: tuple[TraceStep, ...]
    """The steps in the order in which they were made, e.g. of a loop, its first pass and a write.
    """
    left_out: int
    """The number of further steps, which are not kept, e.g. 34."""
    failure: TemplateRenderError | None
    """The error that ended the render, e.g. `TemplateRenderError("Roles must alternate …")`, or
    None if it is complete."""
    ended_in: tuple[OpenSite, ...]
    """The places under way when it failed, the innermost last, e.g. `(OpenSite(4, ()),)`."""

    @property
    def prompt(self) -> str:
        """The rendered text."""
        return "".join(piece.text for piece in self.pieces)

    def source(self, site: int) -> str:
        """Return the source of a place, or empty if its place is unknown."""
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
            # A loop decides once in each pass: the piece follows the last decision before it.
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
    """Offset in the source with line ends of one newline, e.g. 23 for `{{ m.role }}`; 0, as `end`,
    if the place is unknown."""
    end: int
    """After the last character of the place, e.g. 35."""
    line: int | None
    """From 1, e.g. 2, or None if it is not known."""


class SourceMap(Struct, frozen=True):
    """A whole render, stretch by stretch."""

    spans: tuple[SourceSpan, ...] = ()
    """The stretches, e.g. `(SourceSpan("user", 23, 35, 1), SourceSpan(":", 35, 36, 1))`; together
    their texts are the render."""

    def span_at(self, at: int) -> SourceSpan | None:
        """Return the stretch at an offset of the render, or None outside of it."""
        here = bisect_right([*accumulate(len(span.text) for span in self.spans)], at)
        return self.spans[here] if at >= 0 and here < len(self.spans) else None

    def line_at(self, at: int) -> int | None:
        """Return the template's line that wrote the character at an offset of the render.

        None outside the render, and where it is not known.
        """
        span = self.span_at(at)
        return None if span is None else span.line

    def line_of(self, text: str) -> int | None:
        """Return the template's line that wrote the beginning of a text, or None."""
        at = "".join(span.text for span in self.spans).find(text)
        return None if at < 0 else self.line_at(at)


def source_map(
    pieces: Sequence[PromptPiece], sites: Sequence[TemplateSite], *, in_macros: bool = False
) -> SourceMap:
    """Join consecutive pieces that the same place output.

    With `in_macros`, text of a macro is attributed to the place in the macro that wrote it.
    """
    spans: list[SourceSpan] = []
    for number, several in groupby(pieces, _writing if in_macros else _putting_out):
        text = "".join(piece.text for piece in several)
        site = None if number is None else sites[number]
        if site is None:
            spans.append(SourceSpan(text, 0, 0, None))
        else:
            spans.append(SourceSpan(text, site.start, site.end, site.line))
    return SourceMap(tuple(spans))


def _writing(piece: PromptPiece) -> int | None:
    return piece.site


def _putting_out(piece: PromptPiece) -> int | None:
    return piece.through[-1] if piece.through else piece.site
