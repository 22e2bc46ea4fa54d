"""Edits with which a value that a loop sets is still there when the loop is over.

Jinja forgets at the end of each pass what `{% set %}` gave a name in it; only attributes of a
namespace stay. In

    {% for m in messages %}{% set found = m.role == 'tool' %}{% endfor %}{{ found }}

`found` is not defined at the end; with the edits it is what the last pass set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .statement_tree import ItemKind, TemplateItem, statement_tree
from .template_edit import TemplateEdit

__all__ = ["KeptValue", "kept_values"]


class KeptValue(NamedTuple):
    """A name that a loop sets, and the edits that keep its value."""

    name: str
    at: int
    """Where the tag stands that sets it."""
    edits: tuple[TemplateEdit, ...]


def kept_values(text: str) -> Iterator[KeptValue]:
    """Return the values that loops set and that are read elsewhere, each with its edits.

    They are read by their name after the loop, or as an attribute of a namespace that has it.
    """
    tokens = [each for each in template_tokens(text) if each.kind != "whitespace"]
    names = {each.value for each in tokens if each.kind == "name"}
    holder = next(each for each in _HOLDERS if each not in names)
    for loop in _loops(statement_tree(text).items):
        for tag in _set_in(loop):
            read = [each.start for each in _read(tokens, tag.name)]
            if any(each > loop.end for each in read):
                yield KeptValue(tag.name, tag.start, _held(text, loop, tag, holder))
            elif not read:
                for space in _spaces_with(tokens, tag.name):
                    at = text.index(tag.name, text.index("set", tag.start) + len("set"))
                    edit = TemplateEdit(at, at, f"{space}.")
                    yield KeptValue(tag.name, tag.start, (edit,))


_HOLDERS = tuple(f"held{'_' * count}" for count in range(1, 99))


def _loops(items: Sequence[TemplateItem]) -> Iterator[TemplateItem]:
    """Return the loops, the outermost alone: what is set in an inner one is lost in both."""
    for item in items:
        if item.word == "for":
            yield item
            continue
        for body in item.bodies:
            yield from _loops(body.items)


def _set_in(loop: TemplateItem) -> Iterator[TemplateItem]:
    for body in loop.bodies:
        for item in body.items:
            if item.kind is ItemKind.TAG and item.word == "set" and item.name.isidentifier():
                yield item
            elif item.word == "if":
                yield from _set_in(item)


def _read(tokens: Sequence[TemplateToken], name: str) -> Iterator[TemplateToken]:
    """Return where a name is read: not as an attribute, an argument's name, or what is set."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.kind != "name" or token.value != name or before.value in (".", "set", "for"):
            continue
        if after.value != "=":
            yield token


def _spaces_with(tokens: Sequence[TemplateToken], name: str) -> Iterator[str]:
    """Return the names of namespaces that have an attribute of this name."""
    words = [each.value for each in tokens]
    attributes = set(zip(words, words[1:], words[2:], strict=False))
    for set_, space, equals, made in zip(words, words[1:], words[2:], words[3:], strict=False):
        is_made = (set_, equals, made) == ("set", "=", "namespace")
        if is_made and (space, ".", name) in attributes:
            yield space


def _held(
    text: str, loop: TemplateItem, tag: TemplateItem, holder: str
) -> tuple[TemplateEdit, ...]:
    """Return the edits that copy a value into a namespace, and out of it after the loop."""
    opening = "{%-" if text.startswith("{%-", loop.start) else "{%"
    return (
        TemplateEdit(
            loop.start, loop.start, f"{opening} set {holder} = namespace(it=none, there=false) %}}"
        ),
        TemplateEdit(
            tag.end,
            tag.end,
            f"{{% set {holder}.it = {tag.name} %}}{{% set {holder}.there = true {_end(text, tag)}",
        ),
        TemplateEdit(
            loop.end,
            loop.end,
            f"{{% if {holder}.there %}}{{% set {tag.name} = {holder}.it %}}"
            f"{{% endif {_end(text, loop)}",
        ),
    )


def _end(text: str, tag: TemplateItem) -> str:
    """Return what ends a tag: with it the whitespace after an addition goes or stays as before."""
    return "-%}" if text.endswith("-%}", 0, tag.end) else "%}"
