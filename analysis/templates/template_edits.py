"""Parse a template into statements and values, and edit stretches of its text.

For example, of `{{ x|trim }}` two edits remove or restrict the filter:

    template_edits("{{ x|trim }}")
    ->  TemplateEdit(3, 9, "(x if x is string else x|trim)"), TemplateEdit(4, 9, "")
    apply_edits("{{ x|trim }}", [TemplateEdit(4, 9, "")])  ->  "{{ x }}"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate, groupby
from typing import NamedTuple

from msgspec import Struct, field

from autoparser.analysis.core.conversation import Json

from .source_text import TemplateToken, closing_bracket, template_tokens

# The statement tree of a template: its outputs, and the statements that decide whether they run.
#
# For example `<{{ 'a' + x }}>{% if y %}z{% else %}w{% endif %}` has the items `<`, an output of
# the operands `'a'` and `x`, `>`, and a branching with the bodies `z` and `w`.


class ItemKind(StrEnum):
    """The kinds of parts of a template."""

    TEXT = "text"
    """Plain text of the template."""
    OUTPUT = "output"
    """`{{ … }}`."""
    TAG = "tag"
    """A tag without a body, e.g. `{% set x = 1 %}`."""
    NESTED = "nested"
    """Tags with bodies between them, e.g. `{% if a %}b{% else %}c{% endif %}`."""


class TemplateItem(Struct, frozen=True):
    """A part of a template at one level; offsets are characters of its text."""

    kind: ItemKind
    """The kind of the part, e.g. `ItemKind.NESTED`."""
    start: int
    """Its first character, e.g. 0 for the `if` above."""
    end: int
    """Without the newline that whitespace control takes after it, e.g. 33 there."""
    word: str = ""
    """The first word of a tag, e.g. `"for"`."""
    operands: tuple[tuple[int, int], ...] = ()
    """The places of the operands of an output, e.g. `((3, 6), (9, 10))`: of `'a'` and `x` in `{{
    'a' + x }}`."""
    bodies: tuple[StatementBody, ...] = ()
    """The bodies between its tags, e.g. of 10 to 11 and of 21 to 22: `b` and `c` of the `if` above.
    """
    name: str = ""
    """The variable of a loop, e.g. `"message"`, or the variable that a tag sets."""


class StatementBody(Struct, frozen=True):
    """The part between two tags of a statement, or the whole template."""

    start: int
    """Its first character, e.g. 10 for `b` of the `if` above."""
    end: int
    """After its last character, e.g. 11 there."""
    items: tuple[TemplateItem, ...]
    """The parts that it consists of, e.g. one of the kind `ItemKind.TEXT`."""


def all_items(body: StatementBody) -> Iterator[TemplateItem]:
    """Yield the items of a body, each before those within it."""
    for item in body.items:
        yield item
        for inner in item.bodies:
            yield from all_items(inner)


class _OpenTag(Struct):
    start: int
    """Where the tag begins, e.g. 0 for the `if` above."""
    word: str
    """Its first word, e.g. `"for"`."""
    name: str
    """The word after that, e.g. the variable of a loop; empty if there is none."""
    body_start: int
    """The start of the open body, e.g. 10 there, and 21 after its `else`."""
    items: list[TemplateItem] = field(default_factory=list[TemplateItem])
    """The items of the open body so far, e.g. one of the kind `ItemKind.TEXT`."""
    bodies: list[StatementBody] = field(default_factory=list[StatementBody])
    """The bodies that have ended, e.g. of 10 to 11: of an `if`, those before its `else`."""

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
    # `{% set x = 1 %}` has no end tag, but `{% set x %}…{% endset %}` has one.
    elif word in _NESTING and not (word == "set" and any(token.value == "=" for token in inside)):
        levels.append(_OpenTag(start, word, name, end))
    else:
        # An attribute set on a namespace survives the end of a scope.
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
"""Operators that bind less tightly than `~`: an operand before them is only a part of theirs."""


def _operands(inside: Sequence[TemplateToken]) -> list[tuple[int, int]]:
    """Return the places of the operands that an expression concatenates; its own if it does not."""
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
            # A sign, as in `+x`, is not a concatenation.
            if at == first:
                return [(inside[0].start, inside[-1].end)]
            found.append((inside[first].start, inside[at - 1].end))
            first = at + 1
    return [*found, (inside[first].start, inside[-1].end)]


class TemplateEdit(NamedTuple):
    """A stretch of a template's text and its replacement."""

    start: int
    """The first character that is replaced, e.g. 934."""
    end: int
    """After the last one, e.g. 948; `start` for an insertion."""
    text: str
    """The replacement, e.g. `" and add_generation_prompt"`; empty for a removal."""

    @property
    def size(self) -> int:
        """Number of characters removed and inserted."""
        return self.end - self.start + len(self.text)

    def overlaps(self, other: TemplateEdit) -> bool:
        """Return whether both change the same text."""
        return self.start < other.end and other.start < self.end


def apply_edits(text: str, edits: Iterable[TemplateEdit]) -> str:
    """Return a text with edits made, none of which overlaps another."""
    # From the end, so that the offsets of earlier edits stay valid.
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def spans_after(
    edits: Iterable[TemplateEdit], spans: Iterable[tuple[int, int]] = ()
) -> tuple[tuple[int, int], ...]:
    """Return the places of the edits, and the new places of `spans`, in the edited text."""
    made = sorted(edits)

    def move_offset(at: int, *, last: bool) -> int:
        # An edit that touches a span belongs to it: an insertion at its beginning does not move
        # the beginning, and one at its end moves the end.
        before = [edit for edit in made if edit.end < at or (last and edit.end == at)]
        inside = next((edit for edit in made if edit.start < at < edit.end), None)
        if inside is not None:
            at = inside.end if last else inside.start
            before = [*before, inside] if last else before
        return at + sum(len(edit.text) - (edit.end - edit.start) for edit in before)

    places = [(move_offset(start, last=False), move_offset(end, last=True)) for start, end in spans]
    for number, edit in enumerate(made):
        start = edit.start + sum(
            len(earlier.text) - (earlier.end - earlier.start) for earlier in made[:number]
        )
        places.append((start, start + len(edit.text)))
    return tuple(places)


def changed_lines(text: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits, each of whole lines, that make one text the other."""
    old, new = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at = [0, *accumulate(map(len, old))]
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        TemplateEdit(at[start], at[end], "".join(new[begin:stop]))
        for change, start, end, begin, stop in found
        if change != "equal"
    )


def in_newlines(text: str) -> str:
    """Return a text with each line ended by one newline, as places of a template are counted."""
    return re.sub("\r\n?", "\n", text)


def in_line_ends(text: str, original: str) -> str:
    """Return an edited text with the line ends of the original; new lines have the usual one."""
    if "\r" not in original:
        return text
    usual = max(ends := re.findall("\r\n?|\n", original), key=ends.count)
    at = [found.start() for found in re.finditer("\r\n|.", original, re.DOTALL)]
    at.append(len(original))
    edits = changed_lines(in_newlines(original), text)
    return apply_edits(
        original,
        (
            TemplateEdit(at[edit.start], at[edit.end], edit.text.replace("\n", usual))
            for edit in edits
        ),
    )


def statement_spans(tokens: Sequence[TemplateToken]) -> Iterator[list[TemplateToken]]:
    """Yield the tokens within each `{% … %}` and `{{ … }}`, without whitespace."""
    for kind, (_, *inside) in _items(tokens):
        if kind is not ItemKind.TEXT:
            yield [token for token in inside[:-1] if token.kind != "whitespace"]


class StatementStretch(Struct, frozen=True):
    """Tokens between two separators of an expression, at one depth of brackets."""

    tokens: tuple[TemplateToken, ...]
    """At least one token, e.g. the three of `role == "user"`."""
    before: str
    """The token before it, e.g. `"if"`; empty at the beginning of the statement."""
    after: str
    """The token after it, e.g. `"and"`; empty at the end of the statement."""

    @property
    def start(self) -> int:
        """Where it begins, in characters of the template."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.tokens[-1].end


_PARTING = frozenset({"and", "or", "if", "elif", "else", ",", "=", ":"})


def bracket_stretches(tokens: Sequence[TemplateToken]) -> Iterator[list[StatementStretch]]:
    """Return for each pair of brackets, and for the statement, the stretches directly within it."""
    levels: list[tuple[list[StatementStretch], list[TemplateToken], str]] = [([], [], "")]
    for token in tokens:
        row, run, before = levels[-1]
        if token.value in _PARTING:
            if run:
                row.append(StatementStretch(tuple(run), before, token.value))
            levels[-1] = (row, [], token.value)
        elif token.nesting > 0:
            run.append(token)
            levels.append(([], [], token.value))
        elif token.nesting < 0 and len(levels) > 1:
            if run:
                row.append(StatementStretch(tuple(run), before, token.value))
            yield row
            levels.pop()
            # For the expression around them, the brackets are a part of one stretch.
            levels[-1][1].extend([*(token for stretch in row for token in stretch.tokens), token])
        else:
            run.append(token)
    row, run, before = levels[0]
    if run:
        row.append(StatementStretch(tuple(run), before, ""))
    yield row


def join_stretches(row: Sequence[StatementStretch]) -> Iterator[list[StatementStretch]]:
    """Yield the groups of stretches that `and` and `or` join."""
    number = 0

    def group(stretch: StatementStretch) -> int:
        nonlocal number
        number += stretch.before not in ("and", "or")
        return number

    for _, stretches in groupby(row, group):
        yield [*stretches]


def condition_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[int, int]]:
    """Yield the places of the conditions of a statement, including those within values."""
    for row in bracket_stretches(tokens):
        for side in join_stretches(row):
            if side[0].before in ("if", "elif"):
                yield side[0].start, side[-1].end


class FilterChain(NamedTuple):
    """A value and the operations that follow it."""

    start: int
    """The first character of the value, e.g. 3 in `{{ m.text[0].strip() }}`."""
    operations: tuple[tuple[int, int, str], ...]
    """Start, end and kind of each, e.g. `((4, 9, "."), (9, 12, "["), (12, 20, "("))` there: a `|`
    filter, a `(` method call, a `[` subscript, or a `.` attribute."""


def filter_chains(tokens: Sequence[TemplateToken]) -> Iterator[FilterChain]:
    """Yield every value with operations after it, including those within brackets."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        starts = token.kind in ("name", "string") and token.value not in _WORDS
        if not starts and not (token.kind == "operator" and token.value == "("):
            at += 1
            continue
        end = at + 1 if starts else closing_bracket(tokens, at) + 1
        operations: list[tuple[int, int, str]] = []
        inner = [(at + 1, end - 1)] if not starts else []
        while end < len(tokens):
            after, kind = _operation(tokens, end)
            if not kind:
                break
            operations.append((tokens[end].start, tokens[after - 1].end, kind))
            inner.append((end + 1, after - 1))
            end = after
        if operations:
            yield FilterChain(token.start, tuple(operations))
        for left, right in inner:
            yield from filter_chains(tokens[left:right])
        at = end


_WORDS = frozenset(
    {"and", "or", "not", "if", "elif", "else", "in", "is", "set", "for", "true", "false", "none"}
)


def _operation(tokens: Sequence[TemplateToken], at: int) -> tuple[int, str]:
    """Return the end of the operation at a token, and its kind, empty for no operation."""
    value, follows = tokens[at].value, at + 1 < len(tokens)
    if value == "[":
        return closing_bracket(tokens, at) + 1, "["
    if value not in (".", "|") or not follows:
        return at, ""
    called = at + 2 < len(tokens) and tokens[at + 2].value == "("
    end = closing_bracket(tokens, at + 2) + 1 if called else at + 2
    return end, "|" if value == "|" else "(" if called else "."


# Small edits of a template, found by its syntax alone; renders decide which of them helps.
#
# An edit removes an operation on a value (`|trim`, `.split(x)[-1]`), a part of a condition (`and
# not loop.last`) or a whole condition; it restricts an operation to values that are not strings
# (`x|tojson`); or it tests the first item in place of the last (`users[-1]`), which changes with
# each later prompt. For example `{% if a and b %}{{ x|trim }}{% endif %}` gives `{% if b %}`, `{%
# if a %}`, `{% if true %}`, `{% if false %}`, `{{ x }}` and `{{ (x if x is string else x|trim) }}`.


def default_edit(setting: Mapping[str, Json]) -> TemplateEdit:
    """Return the edit that sets other defaults of switches; a given value stays."""
    lines = (
        f"{{% set {name} = {name}|default({_jinja_literal(value)}) %}}\n"
        for name, value in setting.items()
    )
    return TemplateEdit(0, 0, "".join(lines))


def _jinja_literal(value: Json) -> str:
    """Write a value of a switch as Jinja reads it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value)


def template_edits(text: str) -> tuple[TemplateEdit, ...]:
    """Return every edit of these kinds, in order, without duplicates."""
    found = (
        edit
        for tokens in statement_spans(template_tokens(text))
        for edit in (*_conditions(tokens), *_operations(text, tokens))
    )
    return tuple(sorted(dict.fromkeys(found)))


def _conditions(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Yield edits that drop one side of an `and` or `or`, or fix a condition's value."""
    yield from one_sided(tokens)
    for start, end in condition_places(tokens):
        for value in ("true", "false"):
            yield TemplateEdit(start, end, value)


def one_sided(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Yield edits that drop one side of an `and` or `or`."""
    for row in bracket_stretches(tokens):
        # A side is dropped with its operator: of `a and b`, ` and b` or `a and `.
        for at, stretch in enumerate(row):
            if stretch.before in ("and", "or") and at:
                yield TemplateEdit(row[at - 1].end, stretch.end, "")
            if stretch.after in ("and", "or") and at + 1 < len(row):
                yield TemplateEdit(stretch.start, row[at + 1].start, "")


def _operations(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Yield edits that drop operations, also for strings alone, or take the first item."""
    for chain in filter_chains(tokens):
        for first, (start, end, kind) in enumerate(chain.operations):
            subscript = text[start:end] if kind == "[" else ""
            if subscript == "[-1]":
                yield TemplateEdit(start, end, "[0]")
            sliced = ":" in subscript
            if kind not in "|(" and not sliced:
                continue
            value = text[chain.start : start].rstrip()
            # Remove it alone, or with the operations after it: `.split(x)[-1]` is one unit.
            for _, last, _ in chain.operations[first:]:
                yield TemplateEdit(len(value) + chain.start, last, "")
            whole = text[chain.start : end]
            if kind == "|":
                kept = f"({value} if {value} is string else {whole})"
                yield TemplateEdit(chain.start, end, kept)
