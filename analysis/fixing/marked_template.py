"""A template with generation blocks written into it, where it writes what the model does.

Contract: what the model writes is what the renderer attributes to it in every conversation of the
proof of `render`'s training templates; the source map says which place of the template wrote it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.history.renderer import TrainingTemplateError
from autoparser.analysis.history.renderer.training_proof import (
    AttributedTurns,
    attributed_turns,
    proved,
)
from autoparser.analysis.loading.edits import (
    Authorship,
    Ownership,
    exploded,
    statement_tree,
    with_generation_blocks,
)
from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["marked_templates", "marks_what_the_model_writes"]


@dataclass(frozen=True, slots=True)
class _Use:
    """What a place wrote once."""

    length: int
    sampled: tuple[tuple[int, int], ...]
    """From which character to which it is the model's."""
    model: bool
    """Whether it is in a turn of the model's."""


def marked_templates(analysis: Analysis) -> Iterator[ChatTemplate]:
    """Return the template with generation blocks, in the ways that there are."""
    template = analysis.template
    tree = statement_tree(template.text)
    text, places = exploded(template.text, tree)
    uses: dict[tuple[int, int], list[_Use]] = defaultdict(list)
    apart = replace(template, text=text)
    try:
        for each in attributed_turns(analysis):
            for place, use in _uses(each, apart, places):
                uses[place].append(use)
    except AutoparserError:
        # Taken apart, an output is another text.
        return
    owners = {place: _owner(found) for place, found in uses.items()}
    seen = {template.text}
    for before, scopes in product((False, True), (True, False)):
        marked = with_generation_blocks(template.text, tree, owners, scopes=scopes, before=before)
        if marked is not None and marked not in seen:
            seen.add(marked)
            yield replace(template, text=marked)


def _uses(
    turns: AttributedTurns, apart: ChatTemplate, places: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], _Use]]:
    """Say of each stretch of a render which place wrote it, and what of it is the model's."""
    at = 0
    spans = apart.source_map(turns.variables).spans
    if "".join(span.text for span in spans) != turns.whole.text:
        raise TemplateRenderError("taken apart, the template renders another text")
    for span in spans:
        end = at + len(span.text)
        inside = [each for each in turns.whole.segments if each.start < end and each.end > at]
        sampled = [
            (max(each.start, at) - at, min(each.end, end) - at) for each in inside if each.sampled
        ]
        place = places.get(span.start)
        if place is not None and span.text:
            model = any(turns.roles[each.message] == "assistant" for each in inside)
            yield place, _Use(len(span.text), tuple(_joined(sampled)), model)
        at = end


def _joined(stretches: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begun: tuple[int, int] | None = None
    for start, end in stretches:
        if begun is not None and begun[1] == start:
            begun = (begun[0], end)
        else:
            if begun is not None:
                yield begun
            begun = (start, end)
    if begun is not None:
        yield begun


def _owner(uses: list[_Use]) -> Ownership:
    """Say whose a place is, by all that it wrote."""
    ours = [use for use in uses if use.sampled]
    if not ours:
        return Ownership(Authorship.OTHERS)
    if any(use.model and not use.sampled for use in uses):
        # A part of some turns alone, which no block could tell from the same part of others.
        return Ownership(Authorship.OTHERS)
    shared = Authorship.MODEL if len(ours) == len(uses) else Authorship.SHARED
    if all(use.sampled == ((0, use.length),) for use in ours):
        return Ownership(shared)
    cuts = {(use.sampled, use.length) for use in ours}
    if len(cuts) == 1 and len(ours[0].sampled) == 1:
        return Ownership(shared, ours[0].sampled[0])
    return Ownership(Authorship.OTHERS)


def marks_what_the_model_writes(analysis: Analysis, marked: ChatTemplate) -> bool:
    """Say whether every text is the same, and what is marked is what the renderer samples."""
    try:
        return proved(analysis, marked, written=True).passed
    except TrainingTemplateError:
        return False
