"""Edits that are proven, written as a person would have: the same renders, said more plainly.

Contract: only what the edits touch is written otherwise, and only where the caller, who knows what
has to be rendered, finds both templates alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.template import ChatTemplate

from .decided_conditions import decided_conditions
from .template_edit import TemplateEdit, edited, spans_after
from .tidy_spelling import own_lines, without_brackets

__all__ = ["EditJudge", "tidied"]

MOST_FORMS = 40
"""So many times a template is written more plainly."""

Spans = tuple[tuple[int, int], ...]


class EditJudge(Protocol):
    """Whoever knows what edited templates have to render."""

    def written(self, text: str) -> ChatTemplate:
        """Return the template with another text."""
        ...

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Say whether both render the same."""
        ...


def tidied(text: str, edits: Sequence[TemplateEdit], judge: EditJudge) -> ChatTemplate:
    """Return the template of a text with edits made, in their plainest form."""
    template, spans = judge.written(edited(text, edits)), spans_after(edits)
    for _ in range(MOST_FORMS):
        form = next(_plainer(judge, template, spans), None)
        if form is None:
            break
        template = judge.written(edited(template.text, form))
        spans = spans_after(form, spans)
    lines = own_lines(template.text, spans)
    apart = judge.written(edited(template.text, lines))
    return apart if lines and _alike(judge, template, apart) else template


def _plainer(
    judge: EditJudge, template: ChatTemplate, spans: Spans
) -> Iterator[Sequence[TemplateEdit]]:
    """Return the forms that say the same in less."""
    text = template.text
    for form in _touching(decided_conditions(text), spans):
        if _alike(judge, template, judge.written(edited(text, form))):
            yield form
    for form in _touching(without_brackets(text), spans):
        if _same_tree(template, judge.written(edited(text, form))):
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


def _alike(judge: EditJudge, one: ChatTemplate, other: ChatTemplate) -> bool:
    try:
        other.check_syntax()
    except AutoparserError:
        return False
    return judge.alike(one, other)
