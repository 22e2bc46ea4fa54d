"""Which parts of a template a conversation reaches, so that edits of others need no render.

What stands between two tags that belong together is reached where the first of them lets it be. Of

    {% if a %}{{ x }}{% else %}{{ y }}{% endif %}

a conversation without `a` reaches the second body alone, and an edit of `{{ x }}` changes nothing
in it. An edit of a tag belongs to the body around the tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from autoparser.analysis.core.errors import TemplateRenderError, TemplateSyntaxError
from autoparser.analysis.loading.edits import StatementBody, TemplateEdit, edited, statement_tree
from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["ReachedBodies"]

REACHED = "autoparser_reached"
"""What the template calls at the beginning of each body, and what it sets to what comes of it."""


class ReachedBodies:
    """The bodies of one template."""

    def __init__(self, template: ChatTemplate) -> None:
        """Look at a template that Jinja can read, whose lines end in one newline."""
        self._template = template
        self._bodies = [*_inner(statement_tree(template.text))]

    def around(self, edits: Sequence[TemplateEdit]) -> frozenset[int | None]:
        """Return the innermost body that each edit stands in; None for the whole template."""
        return frozenset(map(self._around, edits))

    def _around(self, edit: TemplateEdit) -> int | None:
        holding = (
            (body.end - body.start, number)
            for number, body in enumerate(self._bodies)
            if body.start <= edit.start and edit.end <= body.end
        )
        return min(holding, default=(0, None))[1]

    def of(self, variables: Mapping[str, object], text: str | None) -> frozenset[int | None]:
        """Return what a conversation reaches that renders to a text, or to none."""
        found: set[int | None] = {None}
        try:
            written = self._telling.render_prepared({**variables, REACHED: found.add})
        except (TemplateRenderError, TemplateSyntaxError):
            written = None
        if written != text:
            # It minds being asked.
            return frozenset((None, *range(len(self._bodies))))
        return frozenset(found)

    @cached_property
    def _telling(self) -> ChatTemplate:
        text = self._template.text
        return replace(self._template, text=edited(text, map(self._call, range(len(self._bodies)))))

    def _call(self, number: int) -> TemplateEdit:
        """Call at the beginning of a body, by a tag that does to the text what that before does."""
        at = self._bodies[number].start
        control = self._template.text[at - 3]
        closing = f"{control if control in '-+' else ''}%}}"
        return TemplateEdit(at, at, f"{{% set {REACHED}_ = {REACHED}({number}) {closing}")


def _inner(body: StatementBody) -> Iterator[StatementBody]:
    for item in body.items:
        for inner in item.bodies:
            yield inner
            yield from _inner(inner)
