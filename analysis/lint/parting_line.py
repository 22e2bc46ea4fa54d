"""The template's line where two renders part, for findings about what one of them lacks.

A text that is missing was written by no line. What can be named is what let it be written in the
other render: in

    {%- for message in messages %}
    {%- if message.role == 'system' %}{{- message.content }}{%- endif %}

a developer's message is lost at line 2, where the same test held for a system's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.loading.template import PromptPiece, RenderTrace, StepKind, TraceStep

from .lint_renders import Render

__all__ = ["line_of_the_lost", "line_that_saw", "parting_line"]


def parting_line(one: Render, other: Render) -> int | None:
    """Return the line where the first render goes another way than the other.

    Where their texts differ, it is what let the additional text be written; where they are alike,
    the first test or loop that went otherwise, or the last place that saw another value. None
    where there is none.
    """
    if one.error is not None:
        return one.error.line
    if not other.rendered:
        return None
    here, there = one.walk(), other.walk()
    if one.text == other.text:
        return _parting_step(here, there) or _last_seen_otherwise(here, there)
    at = prefix_length(one.text, other.text)
    left, right = one.text[at:], other.text[at:]
    if right.endswith(left):
        return _what_let(there, at, here)
    if left.endswith(right):
        return _what_let(here, at, there)
    return one.line_at(at)


def line_of_the_lost(lacking: Render, keeping: Render, text: str) -> int | None:
    """Return the line that let a text be written in one render, and did not in the other."""
    if lacking.error is not None:
        return lacking.error.line
    at = keeping.text.find(text)
    return None if at < 0 else _what_let(keeping.walk(), at, lacking.walk())


def line_that_saw(render: Render, word: str) -> int | None:
    """Return the last line that looked at a value that holds a word; None where none did."""
    trace = render.walk()
    for step in reversed(trace.steps):
        if word in step.words or any(word in each.words for each in step.seen):
            return trace.sites[step.site].line
    return None


def _what_let(keeping: RenderTrace, at: int, lacking: RenderTrace) -> int | None:
    """Return the outermost test or loop around a text that never went that way elsewhere.

    Where all of them did, for another message perhaps, it is the outermost test that held less
    often, and where there is none the place that wrote the text.
    """
    piece = _piece_at(keeping, at)
    if piece is None:
        return None
    here, there = (Counter(map(_way, trace.steps)) for trace in (keeping, lacking))
    reasons = keeping.reasons(piece)
    never = (each for each in reasons if not there[_way(each)])
    rarer = (each for each in reasons if each.held and there[_way(each)] < here[_way(each)])
    found = next(never, None) or next(rarer, None)
    site = piece.site if found is None else found.site
    return None if site is None else keeping.sites[site].line


def _piece_at(trace: RenderTrace, at: int) -> PromptPiece | None:
    end = 0
    for piece in trace.pieces:
        end += len(piece.text)
        if at < end:
            return piece
    return None


def _way(step: TraceStep) -> tuple[StepKind, int, bool | None]:
    return step.kind, step.site, step.held


def _parting_step(one: RenderTrace, other: RenderTrace) -> int | None:
    for here, there in zip_longest(one.steps, other.steps):
        if here is None or there is None or _way(here) != _way(there):
            both = [each for each in (here, there) if each is not None]
            # One more pass of a loop stands beside whatever follows the loop.
            first = next((each for each in both if each.kind is StepKind.PASS), both[0])
            return one.sites[first.site].line
    return None


def _last_seen_otherwise(one: RenderTrace, other: RenderTrace) -> int | None:
    found = list(_seen_otherwise(one, other))
    return found[-1] if found else None


def _seen_otherwise(one: RenderTrace, other: RenderTrace) -> Iterator[int]:
    for here, there in zip(one.steps, other.steps, strict=False):
        if (here.words, here.seen) != (there.words, there.seen):
            yield one.sites[here.site].line
