"""A stretch of a template's text, and what takes its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct, field

from .source_text import TemplateToken, closing_bracket, template_tokens

# A template's text as a tree of what it writes and what decides whether that is written.
#
# For example `<{{ 'a' + x }}>{% if y %}z{% else %}w{% endif %}` has the items `<`, an output of
# the operands `'a'` and `x`, `>`, and a branching with the bodies `z` and `w`.


class ItemKind(StrEnum):
    """What a part of a template is."""

    TEXT = "text"
    OUTPUT = "output"
    TAG = "tag"
    NESTED = "nested"


class TemplateItem(Struct, frozen=True):
    """A part of a template that stands by itself; places are characters of its text."""

    kind: ItemKind
    start: int
    end: int
    """Without the newline that whitespace control takes after it."""
    word: str = ""
    """By which a tag begins."""
    operands: tuple[tuple[int, int], ...] = ()
    """The places of what an output puts together, one after the other."""
    bodies: tuple[StatementBody, ...] = ()
    name: str = ""
    """What a loop calls the item it is at, or a tag sets."""


class StatementBody(Struct, frozen=True):
    """What stands between two tags that belong together, or in the whole template."""

    start: int
    end: int
    items: tuple[TemplateItem, ...]


def all_items(body: StatementBody) -> Iterator[TemplateItem]:
    """Return every item of a body, and after each those of the bodies in it."""
    for item in body.items:
        yield item
        for inner in item.bodies:
            yield from all_items(inner)


class _OpenTag(Struct):
    start: int
    word: str
    name: str
    body_start: int
    """Where the body begins that is being read."""
    items: list[TemplateItem] = field(default_factory=list[TemplateItem])
    bodies: list[StatementBody] = field(default_factory=list[StatementBody])

    def end_body(self, at: int, body_start: int) -> None:
        self.bodies.append(StatementBody(self.body_start, at, tuple(self.items)))
        self.items, self.body_start = [], body_start


_NESTING = frozenset({"if", "for", "macro", "call", "filter", "set", "block", "generation", "with"})


def statement_tree(text: str) -> StatementBody:
    """Return the items of a template that Jinja can read, whose lines end in one newline."""
    whole = _OpenTag(0, "", "", 0)
    levels = [whole]
    for kind, tokens in _items(template_tokens(text)):
        start, end = tokens[0].start, tokens[-1].start + len(tokens[-1].value.rstrip())
        inside = [token for token in tokens[1:-1] if token.kind != "whitespace"]
        if kind is ItemKind.TEXT:
            levels[-1].items.append(TemplateItem(kind, start, tokens[-1].end))
        elif kind is ItemKind.OUTPUT:
            operands = tuple(_operands(inside))
            levels[-1].items.append(TemplateItem(kind, start, end, operands=operands))
        else:
            _take_tag(levels, inside, start, end)
    whole.end_body(len(text), len(text))
    return whole.bodies[0]


def _take_tag(
    levels: list[_OpenTag], inside: Sequence[TemplateToken], start: int, end: int
) -> None:
    word = inside[0].value if inside else ""
    name = inside[1].value if len(inside) > 1 else ""
    if word in ("elif", "else") and len(levels) > 1:
        levels[-1].end_body(start, end)
    elif word.startswith("end") and len(levels) > 1:
        opened = levels.pop()
        opened.end_body(start, end)
        bodies = tuple(opened.bodies)
        nested = ItemKind.NESTED
        item = TemplateItem(nested, opened.start, end, opened.word, (), bodies, opened.name)
        levels[-1].items.append(item)
    elif word in _NESTING and not (word == "set" and any(each.value == "=" for each in inside)):
        levels.append(_OpenTag(start, word, name, end))
    else:
        # What an attribute of a namespace is set to is not forgotten where a scope ends.
        kept = len(inside) > 2 and inside[2].value == "."  # noqa: PLR2004 - `set a.b`
        levels[-1].items.append(
            TemplateItem(ItemKind.TAG, start, end, word, name="" if kept else name)
        )


def _items(tokens: Sequence[TemplateToken]) -> Iterator[tuple[ItemKind, list[TemplateToken]]]:
    run: list[TemplateToken] = []
    for token in tokens:
        if token.kind == "data":
            yield ItemKind.TEXT, [token]
        elif token.kind in ("block_begin", "variable_begin"):
            run = [token]
        elif token.kind in ("block_end", "variable_end") and run:
            kind = ItemKind.TAG if token.kind == "block_end" else ItemKind.OUTPUT
            yield kind, [*run, token]
            run = []
        elif run:
            run.append(token)


_BINDING_LESS = frozenset(
    {"if", "else", "and", "or", "not", "in", "is", "==", "!=", "<", ">", "<=", ">=", "-", ","}
)
"""What is put together before these is but a part of what they work on."""


def _operands(inside: Sequence[TemplateToken]) -> list[tuple[int, int]]:
    """Return the places of the texts that an expression puts together; its own for none."""
    if not inside:
        return []
    if inside[0].value == "(" and closing_bracket(inside) == len(inside) - 1:
        return _operands(inside[1:-1])
    found: list[tuple[int, int]] = []
    depth, first = 0, 0
    for at, token in enumerate(inside):
        depth += token.nesting
        if depth:
            continue
        if token.value in _BINDING_LESS:
            return [(inside[0].start, inside[-1].end)]
        if token.value in ("+", "~") and token.kind == "operator":
            if at == first:
                return [(inside[0].start, inside[-1].end)]
            found.append((inside[first].start, inside[at - 1].end))
            first = at + 1
    return [*found, (inside[first].start, inside[-1].end)]


class TemplateEdit(NamedTuple):
    """A stretch of a template's text, and what takes its place."""

    start: int
    end: int
    text: str

    @property
    def size(self) -> int:
        """Characters that are taken away or written."""
        return self.end - self.start + len(self.text)

    def overlaps(self, other: TemplateEdit) -> bool:
        """Return whether both change the same text."""
        return self.start < other.end and other.start < self.end


def apply_edits(text: str, edits: Iterable[TemplateEdit]) -> str:
    """Return a text with edits made, none of which overlaps another."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def spans_after(
    edits: Iterable[TemplateEdit], spans: Iterable[tuple[int, int]] = ()
) -> tuple[tuple[int, int], ...]:
    """Return where in the edited text the edits stand, and what stood at these places before."""
    made = sorted(edits)

    def moved(at: int, *, last: bool) -> int:
        before = [each for each in made if each.end < at or (last and each.end == at)]
        inside = next((each for each in made if each.start < at < each.end), None)
        if inside is not None:
            at = inside.end if last else inside.start
            before = [*before, inside] if last else before
        return at + sum(len(each.text) - (each.end - each.start) for each in before)

    places = [(moved(start, last=False), moved(end, last=True)) for start, end in spans]
    for number, each in enumerate(made):
        start = each.start + sum(len(it.text) - (it.end - it.start) for it in made[:number])
        places.append((start, start + len(each.text)))
    return tuple(places)


def changed_lines(text: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits, each of whole lines, that make one text the other."""
    old, new = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at = [0, *accumulate(map(len, old))]
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        TemplateEdit(at[start], at[end], "".join(new[begin:stop]))
        for what, start, end, begin, stop in found
        if what != "equal"
    )


def in_newlines(text: str) -> str:
    """Return a text with each line ended by one newline, as places of a template are counted."""
    return re.sub("\r\n?", "\n", text)
