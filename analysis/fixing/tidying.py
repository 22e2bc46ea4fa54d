"""Edits that are proven, written as a person would have: the same renders, said more plainly.

Contract: only what the edits touch is written otherwise, and every conversation of the proof is
rendered to the same text as before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.edits import (
    TemplateEdit,
    decided_conditions,
    edited,
    own_lines,
    spans_after,
    without_brackets,
)
from autoparser.analysis.loading.template import ChatTemplate

from .template_trials import TemplateTrials

__all__ = ["tidied"]

MOST_FORMS = 40
"""So many times a template is written more plainly."""

Spans = tuple[tuple[int, int], ...]


def tidied(trials: TemplateTrials, edits: Sequence[TemplateEdit]) -> ChatTemplate:
    """Return the template with edits made, in their plainest form."""
    template, spans = trials.edited(edits), spans_after(edits)
    for _ in range(MOST_FORMS):
        form = next(_plainer(trials, template, spans), None)
        if form is None:
            break
        template = trials.written(edited(template.text, form))
        spans = spans_after(form, spans)
    lines = own_lines(template.text, spans)
    apart = trials.written(edited(template.text, lines))
    return apart if lines and _alike(trials, template, apart) else template


def _plainer(
    trials: TemplateTrials, template: ChatTemplate, spans: Spans
) -> Iterator[Sequence[TemplateEdit]]:
    """Return the forms that say the same in less."""
    text = template.text
    for form in _touching(decided_conditions(text), spans):
        if _alike(trials, template, trials.written(edited(text, form))):
            yield form
    for form in _touching(without_brackets(text), spans):
        if _same_tree(template, trials.written(edited(text, form))):
            yield form


def _touching(
    forms: Iterable[Sequence[TemplateEdit]], spans: Spans
) -> Iterator[Sequence[TemplateEdit]]:
    """Return the forms of what was edited: not of what the template had before."""
    for form in forms:
        # What follows the first two but moves to the left with them.
        ends = chain.from_iterable((each.start, each.end) for each in form[:2])
        places = [*ends]
        if any(min(places) <= end and start <= max(places) for start, end in spans):
            yield form


def _same_tree(one: ChatTemplate, other: ChatTemplate) -> bool:
    try:
        return one.syntax_tree == other.syntax_tree
    except AutoparserError:
        return False


def _alike(trials: TemplateTrials, one: ChatTemplate, other: ChatTemplate) -> bool:
    try:
        other.check_syntax()
    except AutoparserError:
        return False
    return trials.proof.alike(one, other)
