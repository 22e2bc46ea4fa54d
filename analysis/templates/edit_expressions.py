"""Statements of a template as stretches of tokens, and as values that operations follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.conversation import Json

from .source_text import TemplateToken, closing_bracket, template_tokens
from .template_edits import TemplateEdit


def statement_spans(tokens: Sequence[TemplateToken]) -> Iterator[list[TemplateToken]]:
    """Return what stands within each `{% … %}` and `{{ … }}`, without its whitespace."""
    inside: list[TemplateToken] | None = None
    for token in tokens:
        if token.kind in ("block_begin", "variable_begin"):
            inside = []
        elif token.kind in ("block_end", "variable_end") and inside is not None:
            yield inside
            inside = None
        elif inside is not None and token.kind != "whitespace":
            inside.append(token)


class StatementStretch(Struct, frozen=True):
    """Tokens between two that part an expression, at one depth of brackets."""

    tokens: tuple[TemplateToken, ...]
    before: str
    """What stands before it; empty at the statement's beginning."""
    after: str

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
            levels[-1][1].extend([*_tokens_of(row), token])
        else:
            run.append(token)
    row, run, before = levels[0]
    if run:
        row.append(StatementStretch(tuple(run), before, ""))
    yield row


def _tokens_of(row: Sequence[StatementStretch]) -> Iterator[TemplateToken]:
    for stretch in row:
        yield from stretch.tokens


def join_stretches(row: Sequence[StatementStretch]) -> Iterator[list[StatementStretch]]:
    """Put stretches together that `and` and `or` join."""
    number = 0

    def group(stretch: StatementStretch) -> int:
        nonlocal number
        number += stretch.before not in ("and", "or")
        return number

    for _, stretches in groupby(row, group):
        yield [*stretches]


def condition_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[int, int]]:
    """Return the places of the conditions of a statement, those within its values, too."""
    for row in bracket_stretches(tokens):
        for side in join_stretches(row):
            if side[0].before in ("if", "elif"):
                yield side[0].start, side[-1].end


class FilterChain(NamedTuple):
    """A value and the operations that follow it."""

    start: int
    operations: tuple[tuple[int, int, str], ...]
    """The place of each, and whether it is a `|` filter, a `(` call of a method, a `[` subscript
    or a `.` attribute."""


def filter_chains(tokens: Sequence[TemplateToken]) -> Iterator[FilterChain]:
    """Return every value that operations follow, those within brackets, too."""
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
    """Return where the operation at a token ends, and what it is, or empty if there is none."""
    value, follows = tokens[at].value, at + 1 < len(tokens)
    if value == "[":
        return closing_bracket(tokens, at) + 1, "["
    if value not in (".", "|") or not follows:
        return at, ""
    called = at + 2 < len(tokens) and tokens[at + 2].value == "("
    end = closing_bracket(tokens, at + 2) + 1 if called else at + 2
    return end, "|" if value == "|" else "(" if called else "."


# Small edits of a template's text, found by its syntax alone: nothing is known of what they do.
#
# An edit takes something away or asks less: an operation on a value (`|trim`, `.split(x)[-1]`), a
# part of a condition (`and not loop.last`), a whole condition; it writes a value that is a string
# as it is, where an operation was made for others (`x|tojson`); or it asks of the first item what
# was asked of the last (`users[-1]`), which is another one in each later prompt. Which of them
# serves is for renders to say. For example `{% if a and b %}{{ x|trim }}{% endif %}` gives `{% if
# b %}`, `{% if a %}`, `{% if true %}`, `{% if false %}`, `{{ x }}` and `{{ (x if x is string else
# x|trim) }}`.


def default_edit(setting: Mapping[str, Json]) -> TemplateEdit:
    """Return the edit that gives switches another default; a value that is given stays."""
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
    """Return every such edit of a template, in the order of their places, each once."""
    found = (
        edit
        for tokens in statement_spans(template_tokens(text))
        for edit in (*_conditions(tokens), *_operations(text, tokens))
    )
    return tuple(sorted(dict.fromkeys(found)))


def _conditions(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out one side of an `and` or `or`; let a whole condition be true or false."""
    yield from one_sided(tokens)
    for start, end in condition_places(tokens):
        for value in ("true", "false"):
            yield TemplateEdit(start, end, value)


def one_sided(tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out one side of an `and` or `or`."""
    for row in bracket_stretches(tokens):
        for at, stretch in enumerate(row):
            if stretch.before in ("and", "or") and at:
                yield TemplateEdit(row[at - 1].end, stretch.end, "")
            if stretch.after in ("and", "or") and at + 1 < len(row):
                yield TemplateEdit(stretch.start, row[at + 1].start, "")


def _operations(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Leave out neighboring operations on a value, or for a string alone; take the first item."""
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
