"""Small edits of a template's text, found by its syntax alone: nothing is known of what they do.

An edit takes something away or asks less: an operation on a value (`|trim`, `.split(x)[-1]`), a
part of a condition (`and not loop.last`), a whole condition; it writes a value that is a string as
it is, where an operation was made for others (`x|tojson`); or it asks of the first item what was
asked of the last (`users[-1]`), which is another one in each later prompt. Which of them serves is
for renders to say. For example `{% if a and b %}{{ x|trim }}{% endif %}` gives `{% if b %}`,
`{% if a %}`, `{% if true %}`, `{% if false %}`, `{{ x }}` and
`{{ (x if x is string else x|trim) }}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .expressions import StatementStretch, filter_chains, joined, statements, stretches
from .template_edit import TemplateEdit

__all__ = ["default_edit", "one_sided", "template_edits"]


def default_edit(setting: Mapping[str, Json]) -> TemplateEdit:
    """Return the edit that gives switches another default; a value that is given stays."""
    lines = (
        f"{{% set {name} = {name}|default({_literal(value)}) %}}\n"
        for name, value in setting.items()
    )
    return TemplateEdit(0, 0, "".join(lines))


def _literal(value: Json) -> str:
    """Write a value of a switch as Jinja reads it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def template_edits(text: str) -> tuple[TemplateEdit, ...]:
    """Return every such edit of a template, in the order of their places, each once."""
    found = (
        edit
        for tokens in statements(template_tokens(text))
        for edit in (*_conditions(tokens), *_operations(text, tokens))
    )
    return tuple(sorted(dict.fromkeys(found)))


def _conditions(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out one side of an `and` or `or`; let a whole condition be true or false."""
    for row in stretches(tokens):
        yield from _one_side(row)
        for side in joined(row):
            if side[0].before in ("if", "elif"):
                for value in ("true", "false"):
                    yield TemplateEdit(side[0].start, side[-1].end, value)


def one_sided(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out one side of an `and` or `or`."""
    for row in stretches(tokens):
        yield from _one_side(row)


def _one_side(row: Sequence[StatementStretch]) -> Iterator[TemplateEdit]:
    for at, stretch in enumerate(row):
        if stretch.before in ("and", "or") and at:
            yield TemplateEdit(row[at - 1].end, stretch.end, "")
        if stretch.after in ("and", "or") and at + 1 < len(row):
            yield TemplateEdit(stretch.start, row[at + 1].start, "")


def _operations(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out neighbouring operations on a value, or for a string alone; take the first item."""
    for chain in filter_chains(tokens):
        for first, (start, end, kind) in enumerate(chain.operations):
            subscript = text[start:end] if kind == "[" else ""
            if subscript == "[-1]":
                yield TemplateEdit(start, end, "[0]")
            sliced = ":" in subscript
            if kind not in "|(" and not sliced:
                continue
            value = text[chain.start : start].rstrip()
            for _, last, _ in chain.operations[first:]:
                yield TemplateEdit(len(value) + chain.start, last, "")
            whole = text[chain.start : end]
            if kind == "|":
                kept = f"({value} if {value} is string else {whole})"
                yield TemplateEdit(chain.start, end, kept)
