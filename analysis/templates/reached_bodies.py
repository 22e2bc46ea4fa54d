"""Find the bodies of a template's statements that a render reaches.

An edit of a part that a conversation does not reach needs no render. The text between two tags
that belong together is reached if the first of them allows it. Of

    {% if a %}{{ x }}{% else %}{{ y }}{% endif %}

a conversation without `a` reaches the second body alone, and an edit of `{{ x }}` changes nothing
in it. An edit of a tag belongs to the body around the tag.

The bodies are found by a copy of the template that calls a function at the beginning of each:

    {% if a %}{% set autoparser_reached_ = autoparser_reached(0) %}{{ x }}{% else %}…(1)…{% endif %}

    ReachedBodies(template).of({"y": 1}, "1")  ->  {None, 1}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from autoparser.analysis.core.errors import TemplateRenderError, TemplateSyntaxError

from .chat_template import ChatTemplate
from .template_edits import TemplateEdit, all_items, apply_edits, statement_tree

REACHED = "autoparser_reached"
"""The function that the template calls at the beginning of each body."""


class ReachedBodies:
    """The bodies of one template."""

    def __init__(self, template: ChatTemplate) -> None:
        """Find the bodies of a valid template whose lines end in one newline."""
        self._template = template
        items = all_items(statement_tree(template.text))
        self._bodies = [body for item in items for body in item.bodies]

    def around(self, edits: Sequence[TemplateEdit]) -> frozenset[int | None]:
        """Return the innermost body around each edit; None for the whole template."""
        return frozenset(map(self._around, edits))

    def _around(self, edit: TemplateEdit) -> int | None:
        holding = (
            (body.end - body.start, number)
            for number, body in enumerate(self._bodies)
            if body.start <= edit.start and edit.end <= body.end
        )
        # The shortest body around it is the innermost.
        return min(holding, default=(0, None))[1]

    def of(self, variables: Mapping[str, object], text: str | None) -> frozenset[int | None]:
        """Return the bodies that a conversation reaches; `text` is its render, or None."""
        found: set[int | None] = {None}
        try:
            written = self._telling.render_prepared({**variables, REACHED: found.add})
        except (TemplateRenderError, TemplateSyntaxError):
            written = None
        if written != text:
            # The added calls change the text, so they prove nothing: any body may be reached.
            return frozenset((None, *range(len(self._bodies))))
        return frozenset(found)

    @cached_property
    def _telling(self) -> ChatTemplate:
        text = self._template.text
        return replace(
            self._template, text=apply_edits(text, map(self._call, range(len(self._bodies))))
        )

    def _call(self, number: int) -> TemplateEdit:
        """Return the edit that reports a body, by a tag with the whitespace control before it."""
        at = self._bodies[number].start
        control = self._template.text[at - 3]
        closing = f"{control if control in '-+' else ''}%}}"
        return TemplateEdit(at, at, f"{{% set {REACHED}_ = {REACHED}({number}) {closing}")
